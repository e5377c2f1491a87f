#include "solvers/fgmres.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "device/launch.hpp"
#include "device/upload.hpp"

namespace commlens::solvers {

namespace {

namespace step {
constexpr const char* reductions = "reductions";
constexpr const char* vectors = "vectors";
}  // namespace step

/// Vectors whose inner products, or factors, a kernel has in registers. Kernels for fewer vectors have fewer registers,
/// so that more of their threads read at the same time. Factors of further vectors are computed for each unknown.
constexpr std::size_t most_at_once = 16;

/// Calls function(std::integral_constant<int, n>) for the least n of 4, 8 and 16 that is not less than the count, else
/// for 16.
template <class Function>
void with_at_once(std::size_t count, Function function) {
  if (count <= 4) return function(std::integral_constant<int, 4>{});
  if (count <= 8) return function(std::integral_constant<int, 8>{});
  function(std::integral_constant<int, static_cast<int>(most_at_once)>{});
}

/// Of the residual in a cycle. As the basis is rounded to single precision, the residual is off by up to 1e-7 of what
/// it was at the start of the cycle: what the recurrence says of it is right within 1% down to this part, and not
/// below.
constexpr double most_reduction = 1e-6;

/// Vectors as the iteration leaves them, not of length 1.
struct Basis {
  const float* vectors;
  std::size_t stride;

  [[nodiscard]] COMMLENS_FUNCTION double at(std::size_t j, std::size_t i) const {
    return static_cast<double>(vectors[j * stride + i]);
  }
};

/// Inner products of w with vectors first … first + count - 1.
template <int AtOnce>
struct Products {
  Basis basis;
  const double* w;
  std::size_t first;
  std::size_t count;

  COMMLENS_FUNCTION void operator()(std::size_t i, double* sums) const {
    const double value = w[i];
#if COMMLENS_GPU_COMPILER
#pragma unroll
#endif
    for (std::size_t n = 0; n < AtOnce; ++n) {
      if (n < count) sums[n] += value * basis.at(first + n, i);
    }
  }
};

/// The basis's next vector: w - sum over k of (w . v_k) / (v_k . v_k) v_k, where products[k] is w . v_k. Returns the
/// square of an owned unknown.
template <int AtOnce>
struct Subtract {
  Basis basis;
  const double* products;
  const double* inverse_squares;
  std::size_t count;
  std::size_t counted;
  const double* w;
  float* next;
  double factors[AtOnce] = {};

  [[nodiscard]] COMMLENS_FUNCTION double factor(std::size_t k) const { return products[k] * inverse_squares[k]; }
  COMMLENS_FUNCTION void prepare() {
    for (std::size_t k = 0; k < AtOnce; ++k) factors[k] = k < count ? factor(k) : 0.0;
  }
  COMMLENS_FUNCTION double operator()(std::size_t i) const {
    double value = w[i];
#if COMMLENS_GPU_COMPILER
#pragma unroll
#endif
    for (std::size_t k = 0; k < AtOnce; ++k) {
      if (k < count) value -= factors[k] * basis.at(k, i);
    }
    for (std::size_t k = AtOnce; k < count; ++k) value -= factor(k) * basis.at(k, i);
    next[i] = static_cast<float>(value);
    const auto rounded = static_cast<double>(next[i]);
    return i < counted ? rounded * rounded : 0.0;
  }
};

/// 1 / square; 0 for 0.
void invert(const double* square, double* inverse, device::Stream& stream) {
  device::launch(stream, 1, COMMLENS_LAMBDA(std::size_t) { *inverse = *square > 0 ? 1 / *square : 0.0; });
}

void widen(const float* from, double* to, std::size_t length, device::Stream& stream) {
  device::launch(stream, length, COMMLENS_LAMBDA(std::size_t i) { to[i] = static_cast<double>(from[i]); });
}

/// r = b - image, or b; and the sum of its squares.
struct Residual {
  const double* b;
  const double* image;  ///< nullptr: 0
  std::size_t counted;
  float* r;

  COMMLENS_FUNCTION double operator()(std::size_t i) const {
    r[i] = static_cast<float>(image != nullptr ? b[i] - image[i] : b[i]);
    const auto rounded = static_cast<double>(r[i]);
    return i < counted ? rounded * rounded : 0.0;
  }
};

/// x += sum over k of y[k] z_k.
struct AddCorrections {
  const float* corrections;
  std::size_t stride;
  const double* y;
  int count;
  double* x;

  COMMLENS_FUNCTION void operator()(std::size_t i) const {
    double value = x[i];
    for (int k = 0; k < count; ++k) {
      value += y[k] * static_cast<double>(corrections[static_cast<std::size_t>(k) * stride + i]);
    }
    x[i] = value;
  }
};

}  // namespace

/// The least-squares problem of a cycle: Givens rotations make the Hessenberg matrix triangular, column by column.
struct Fgmres::Cycle {
  explicit Cycle(double norm) : right{norm} {}

  std::vector<std::vector<double>> columns;
  std::vector<double> cosines, sines;
  std::vector<double> right;  ///< of the triangular system; the last one is the norm of the residual

  /// `column` has one element more than the columns before. Returns the norm of the residual, which a column of zeros
  /// does not change.
  double add(std::vector<double> column) {
    for (std::size_t k = 0; k < cosines.size(); ++k) {
      const double upper = cosines[k] * column[k] + sines[k] * column[k + 1];
      column[k + 1] = cosines[k] * column[k + 1] - sines[k] * column[k];
      column[k] = upper;
    }
    const std::size_t last = column.size() - 2;
    const double length = std::hypot(column[last], column[last + 1]);
    cosines.push_back(length == 0 ? 0.0 : column[last] / length);
    sines.push_back(length == 0 ? 1.0 : column[last + 1] / length);
    column[last] = length;
    column.pop_back();
    columns.push_back(std::move(column));
    const double rest = right.back();
    right.back() = cosines.back() * rest;
    right.push_back(-sines.back() * rest);
    return std::abs(right.back());
  }

  /// The factors of the directions.
  [[nodiscard]] std::vector<double> solve() const {
    std::vector<double> y(columns.size());
    for (std::size_t row = y.size(); row-- > 0;) {
      double sum = right[row];
      for (std::size_t k = row + 1; k < y.size(); ++k) sum -= columns[k][row] * y[k];
      y[row] = columns[row][row] != 0 ? sum / columns[row][row] : 0.0;
    }
    return y;
  }
};

Fgmres::Fgmres(Level<double>& level, Precondition precondition, const Options& options, const Context& context,
               const Observation& observation)
    : level_(level),
      precondition_(std::move(precondition)),
      options_(options),
      transport_(context.transport),
      several_ranks_(context.communicator.size() > 1),
      observation_(observation),
      stride_((level.length() + 63) / 64 * 64),
      basis_(context.allocate((options.restart + 1) * stride_ * sizeof(float))),
      corrections_(context.allocate(options.restart * stride_ * sizeof(float))),
      wide_(context.allocate(stride_ * sizeof(double))),
      image_(context.allocate(stride_ * sizeof(double))),
      scalars_(context.allocate((3 * (options.restart + 1) + most_at_once) * sizeof(double))),
      scratch_(context.allocate(device::sum_scratch_bytes)),
      lengths_(options.restart),
      replays_(options.restart) {
  context.stream.fill(scratch_.data(), 0, scratch_.bytes());
}

double Fgmres::upper_bytes(std::size_t restart, double length) {
  const auto m = static_cast<double>(restart);
  const double of_unknown = 2 * sizeof(double) + (2 * m + 1) * sizeof(float);
  return of_unknown * (length + 64) + 4 * m * sizeof(double) + 128 * 1024;
}

/// In iteration j of a cycle: the inner products read w once for every most_at_once vectors, and j + 1 vectors;
/// subtracting reads these again, and w, and writes the next one; the preconditioner's result is widened.
double Fgmres::traffic(std::size_t restart, std::size_t iterations) {
  double bytes = 0;
  for (std::size_t iteration = 0; iteration < iterations; ++iteration) {
    const std::size_t vectors = iteration % restart + 1;
    const std::size_t chunks = (vectors + most_at_once - 1) / most_at_once;
    bytes += static_cast<double>((chunks + 1) * sizeof(double) + (2 * vectors + 1) * sizeof(float));
    bytes += sizeof(double) + sizeof(float);
  }
  return bytes + sizeof(double) + sizeof(float);
}

void Fgmres::sum_over_ranks(double* values, std::size_t count, device::Stream& stream) {
  if (!several_ranks_) return;
  observed(observation_.observer, step::reductions, stream,
           [&] { transport_.allreduce(values, values, count, DataType::f64, stream); });
}

/// Scalars are the squares of the basis's vectors, their inverses, and the products of an iteration.
double Fgmres::start(const double* b, const double* x, device::Stream& stream) {
  if (x != nullptr) level_.apply(x, image_.as<double>(), stream);
  observed(observation_.observer, step::vectors, stream, [&] {
    device::launch_sum(
        stream, level_.length(), scratch_.data(), squares(),
        Residual{b, x != nullptr ? image_.as<double>() : nullptr, level_.space().numbering().owned, basis(0)});
  });
  sum_over_ranks(squares(), 1, stream);
  invert(squares(), inverse_squares(), stream);
  return std::sqrt(device::download(squares(), stream));
}

/// Of w = A M v_j, which becomes the basis's vector j + 1.
void Fgmres::orthogonalize(std::size_t j, device::Stream& stream) {
  const auto* const w = image_.as<double>();
  const Basis vectors{basis(0), stride_};
  const std::size_t counted = level_.space().numbering().owned;
  observed(observation_.observer, step::vectors, stream, [&] {
    for (std::size_t first = 0; first <= j; first += most_at_once) {
      const std::size_t these = std::min(most_at_once, j + 1 - first);
      with_at_once(these, [&](auto at_once) {
        device::launch_sums<decltype(at_once)::value>(stream, counted, scratch_.data(), products() + first,
                                                      Products<decltype(at_once)::value>{vectors, w, first, these});
      });
    }
  });
  sum_over_ranks(products(), j + 1, stream);
  observed(observation_.observer, step::vectors, stream, [&] {
    with_at_once(j + 1, [&](auto at_once) {
      device::launch_sum(
          stream, level_.length(), scratch_.data(), squares() + j + 1,
          Subtract<decltype(at_once)::value>{vectors, products(), inverse_squares(), j + 1, counted, w, basis(j + 1)});
    });
  });
  sum_over_ranks(squares() + j + 1, 1, stream);
  invert(squares() + j + 1, inverse_squares() + j + 1, stream);
}

void Fgmres::extend_basis(std::size_t j, device::Stream& stream) {
  precondition_(basis(j), correction(j), stream);
  observed(observation_.observer, step::vectors, stream,
           [&] { widen(correction(j), wide_.as<double>(), level_.length(), stream); });
  level_.apply(wide_.as<double>(), image_.as<double>(), stream);
  orthogonalize(j, stream);
}

/// A graph has no steps that an observer could be told of.
void Fgmres::queue_iteration(std::size_t j, device::Stream& stream) {
  if (!options_.graphs || observation_.observer != nullptr) return extend_basis(j, stream);
  replays_[j].run(stream, [&] { extend_basis(j, stream); });
}

/// The column of the Hessenberg matrix for vectors of length 1, of which the preconditioner had one.
std::vector<double> Fgmres::column(std::size_t j, device::Stream& stream) {
  const auto scalars = device::download(squares(), 2 * (options_.restart + 1) + j + 1, stream);
  const auto length_of = [&](std::size_t k) { return std::sqrt(scalars[k]); };
  const auto quotient = [](double value, double by) { return by == 0 ? 0.0 : value / by; };
  lengths_[j] = length_of(j);
  std::vector<double> column;
  for (std::size_t k = 0; k <= j; ++k) {
    column.push_back(quotient(scalars[2 * (options_.restart + 1) + k], length_of(k) * lengths_[j]));
  }
  column.push_back(quotient(length_of(j + 1), lengths_[j]));
  return column;
}

void Fgmres::iterate(Cycle& cycle, Solution& solution, device::Stream& stream, const std::function<void()>& heartbeat) {
  const double enough = most_reduction * cycle.right.front();
  for (std::size_t j = 0; j < options_.restart; ++j) {
    queue_iteration(j, stream);
    heartbeat();
    std::vector<double> next = column(j, stream);
    const bool exact = next.back() == 0;
    const double residual = cycle.add(std::move(next));
    ++solution.iterations;
    solution.relative_residuals.push_back(norm_of_b_ == 0 ? 0.0 : residual / norm_of_b_);
    solution.converged = residual >= enough && solution.relative_residuals.back() <= options_.tolerance;
    if (solution.converged || exact || solution.iterations == options_.iterations || std::isnan(residual)) return;
    if (residual <= enough) return;
  }
}

void Fgmres::add_corrections(std::vector<double> y, double* x, device::Stream& stream) {
  for (std::size_t k = 0; k < y.size(); ++k) y[k] = lengths_[k] == 0 ? 0.0 : y[k] / lengths_[k];
  device::upload(y, products(), stream);
  observed(observation_.observer, step::vectors, stream, [&] {
    device::launch(stream, level_.length(),
                   AddCorrections{correction(0), stride_, products(), static_cast<int>(y.size()), x});
  });
}

/// Ends without convergence where a whole cycle has hardly reduced the residual. (A short cycle may do little.)
Solution Fgmres::solve(const double* b, double* x, device::Stream& stream, const std::function<void()>& heartbeat) {
  Solution solution;
  stream.fill(x, 0, level_.length() * sizeof(double));
  double norm = start(b, nullptr, stream);
  norm_of_b_ = norm;
  while (true) {
    Cycle cycle(norm);
    iterate(cycle, solution, stream, heartbeat);
    add_corrections(cycle.solve(), x, stream);
    if (solution.converged) break;
    const double before = norm;
    norm = start(b, x, stream);
    solution.relative_residuals.back() = norm / norm_of_b_;
    solution.converged = solution.relative_residuals.back() <= options_.tolerance;
    if (solution.converged || solution.iterations == options_.iterations) break;
    solution.stagnated = !(norm <= 0.99 * before);
    if (solution.stagnated) break;
  }
  stream.wait();
  return solution;
}

}  // namespace commlens::solvers
