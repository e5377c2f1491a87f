#include "benchmarks/fft/plane_waves.hpp"

#include <cmath>
#include <sstream>
#include <string>

#include "device/launch.hpp"
#include "device/upload.hpp"
#include "harness/pattern.hpp"

namespace commlens {

using fft::Complex;
using fft::Extents;
using fft::Ray;

namespace {

constexpr std::size_t workers = PlaneWaves::workers;

struct Errors {
  double largest;
  double total;
};

/// A coefficient or a point, by its index in x, y and z.
struct Place {
  std::size_t x;
  std::size_t y;
  std::size_t z;
};

/// Kernels cannot use std::array.
Place place_of(const Extents& index) { return {index[0], index[1], index[2]}; }

/// What the coefficients are, wherever they lie.
struct Truth {
  Place grid;  ///< its points in each direction
  Place wave;  ///< the coefficient that is 1
  std::uint64_t seed;
  bool is_wave;

  [[nodiscard]] COMMLENS_FUNCTION Complex<double> coefficient(const Place& place) const {
    if (is_wave) return {place.x == wave.x && place.y == wave.y && place.z == wave.z ? 1.0 : 0.0, 0};
    const std::size_t index = (place.z * grid.y + place.y) * grid.x + place.x;
    return {pattern::number_at(2 * index, seed), pattern::number_at(2 * index + 1, seed)};
  }

  /// exp(2 pi i (gx x/nx + gy y/ny + gz z/nz)) for a coefficient's g; the integers are reduced first, so that no bit of
  /// the angle is lost.
  [[nodiscard]] COMMLENS_FUNCTION Complex<double> wave_at(const Place& g, const Place& place) const {
    constexpr double two_pi = 6.283185307179586476925286766559;
    double turns = static_cast<double>(g.x * place.x % grid.x) / static_cast<double>(grid.x);
    turns += static_cast<double>(g.y * place.y % grid.y) / static_cast<double>(grid.y);
    turns += static_cast<double>(g.z * place.z % grid.z) / static_cast<double>(grid.z);
    return {std::cos(two_pi * turns), std::sin(two_pi * turns)};
  }
};

/// Where the coefficients of a rank lie: by rows of whole x, or of what is inside the sphere.
struct Coefficients {
  const Ray* rows;
  std::size_t nx;
  bool sphere;

  [[nodiscard]] COMMLENS_FUNCTION bool holds(std::size_t row, std::size_t x) const {
    return !sphere || rows[row].holds(fft::frequency(x, nx));
  }
  [[nodiscard]] COMMLENS_FUNCTION std::size_t at(std::size_t row, std::size_t x) const {
    return sphere ? rows[row].at(fft::frequency(x, nx)) : rows[row].first + x;
  }
  [[nodiscard]] COMMLENS_FUNCTION Place place(std::size_t row, std::size_t x) const {
    return {x, rows[row].y, rows[row].z};
  }
};

/// Where the points lie: (x, y, z), z fastest.
struct Points {
  fft::Range x;
  fft::Range y;
  std::size_t nz;

  [[nodiscard]] COMMLENS_FUNCTION Place place(std::size_t index) const {
    const std::size_t column = index / nz;
    return {x.begin + column / y.count, y.begin + column % y.count, index % nz};
  }
};

template <class Real>
COMMLENS_FUNCTION double distance(const Complex<Real>& computed, const Complex<double>& expected) {
  const double real = static_cast<double>(computed.real) - expected.real;
  const double imaginary = static_cast<double>(computed.imaginary) - expected.imaginary;
  return std::sqrt(real * real + imaginary * imaginary);
}

COMMLENS_FUNCTION inline void add(Errors& errors, double error) {
  if (errors.largest == errors.largest && !(error <= errors.largest)) errors.largest = error;  // a NaN stays
  errors.total += error;
}

template <class Real>
void write_coefficients(device::Stream& stream, Complex<Real>* data, Coefficients where, std::size_t rows,
                        Truth truth) {
  device::launch(
      stream, device::Box{1, rows, where.nx}, COMMLENS_LAMBDA(std::size_t, std::size_t row, std::size_t x) {
        if (!where.holds(row, x)) return;
        const Complex<double> value = truth.coefficient(where.place(row, x));
        data[where.at(row, x)] = {static_cast<Real>(value.real), static_cast<Real>(value.imaginary)};
      });
}

/// The elements of one worker: on a GPU each is next to its neighbors', on the host to the worker's own.
struct Turn {
  std::size_t begin;
  std::size_t end;
  std::size_t step;
};

COMMLENS_FUNCTION inline Turn turn_of(std::size_t worker, std::size_t elements, bool on_host) {
  if (!on_host) return {worker, elements, workers};
  const std::size_t each = (elements + workers - 1) / workers;
  const std::size_t end = (worker + 1) * each;
  return {worker * each, end < elements ? end : elements, 1};
}

/// How far a coefficient is from the one that was written; 0 beyond the sphere.
template <class Real>
struct CoefficientError {
  const Complex<Real>* data;
  Coefficients where;
  Truth truth;

  [[nodiscard]] COMMLENS_FUNCTION Place place(std::size_t i) const { return where.place(i / where.nx, i % where.nx); }
  [[nodiscard]] COMMLENS_FUNCTION double operator()(std::size_t i) const {
    const std::size_t row = i / where.nx;
    const std::size_t x = i % where.nx;
    if (!where.holds(row, x)) return 0;
    const Complex<double> expected = truth.coefficient(place(i));
    // Numbers of single precision were rounded when they were written.
    const Complex<double> written{static_cast<Real>(expected.real), static_cast<Real>(expected.imaginary)};
    return distance(data[where.at(row, x)], written);
  }
};

/// How far a point is from the plane wave.
template <class Real>
struct PointError {
  const Complex<Real>* data;
  Points where;
  Truth truth;

  [[nodiscard]] COMMLENS_FUNCTION Place place(std::size_t i) const { return where.place(i); }
  [[nodiscard]] COMMLENS_FUNCTION double operator()(std::size_t i) const {
    return distance(data[i], truth.wave_at(truth.wave, place(i)));
  }
};

template <class Error>
void sum_errors(device::Stream& stream, std::size_t elements, Error error, Errors* sums) {
  const bool on_host = !stream.on_gpu();
  device::launch(
      stream, workers, COMMLENS_LAMBDA(std::size_t worker) {
        Errors errors{0, 0};
        const Turn turn = turn_of(worker, elements, on_host);
        for (std::size_t i = turn.begin; i < turn.end; i += turn.step) add(errors, error(i));
        sums[worker] = errors;
      });
}

/// Of this rank's coefficients, as they were written, what they add to the point at `place`.
template <class Real>
void sum_waves(device::Stream& stream, Coefficients where, std::size_t rows, Truth truth, Place place,
               Complex<double>* sums) {
  const std::size_t elements = rows * where.nx;
  const bool on_host = !stream.on_gpu();
  device::launch(
      stream, workers, COMMLENS_LAMBDA(std::size_t worker) {
        Complex<double> sum{0, 0};
        const Turn turn = turn_of(worker, elements, on_host);
        for (std::size_t i = turn.begin; i < turn.end; i += turn.step) {
          const std::size_t row = i / where.nx;
          const std::size_t x = i % where.nx;
          if (!where.holds(row, x)) continue;
          const Complex<double> c = truth.coefficient(where.place(row, x));
          const Complex<double> written{static_cast<Real>(c.real), static_cast<Real>(c.imaginary)};
          const Complex<double> wave = truth.wave_at(where.place(row, x), place);
          sum.real += written.real * wave.real - written.imaginary * wave.imaginary;
          sum.imaginary += written.real * wave.imaginary + written.imaginary * wave.real;
        }
        sums[worker] = sum;
      });
}

template <class Error>
std::size_t first_beyond(device::Stream& stream, std::size_t elements, Error error, double tolerance) {
  return device::find_first(
      stream, elements, COMMLENS_LAMBDA(std::size_t i) { return !(error(i) <= tolerance); });  // a NaN is beyond
}

Errors sum_of(device::Stream& stream, const device::Buffer& sums) {
  Errors errors{0, 0};
  for (const Errors& worker : device::download(sums.as<Errors>(), workers, stream)) {
    if (!std::isnan(errors.largest) && !(worker.largest <= errors.largest)) errors.largest = worker.largest;
    errors.total += worker.total;
  }
  return errors;
}

/// `element` is the name of one of the `elements`.
template <class Error>
Verdict verdict_of(device::Stream& stream, const device::Buffer& sums, std::size_t elements, Error error,
                   double tolerance, const std::string& element) {
  sum_errors(stream, elements, error, sums.as<Errors>());
  const Errors errors = sum_of(stream, sums);
  Verdict verdict{.elements = elements, .error = {}, .deviation = measure::Deviation{errors.largest, errors.total}};
  if (errors.largest <= tolerance) return verdict;
  const Place place = error.place(first_beyond(stream, elements, error, tolerance));
  std::ostringstream text;
  text << element << " (" << place.x << ", " << place.y << ", " << place.z << ") is the first of those that are up to "
       << errors.largest << " from what they must be; at most " << tolerance << " is allowed";
  verdict.error = text.str();
  return verdict;
}

}  // namespace

PlaneWaves::PlaneWaves(Run& run, const fft::Layout& layout, const fft::Ray* rows, DataType type)
    : run_(run), layout_(layout), rows_(rows), type_(type), sums_(run.buffer(sum_bytes)) {}

void PlaneWaves::write(void* coefficients, Kind kind, std::uint64_t seed) {
  kind_ = kind;
  seed_ = seed;
  const Extents& grid = layout_.distribution.grid;
  for (std::size_t axis = 0; axis < grid.size(); ++axis) {
    // Low frequencies, positive and negative, which are inside the sphere too.
    const std::size_t span = grid.at(axis) / 4;
    const std::size_t from_lowest = pattern::mix(axis, seed) % (2 * span + 1);
    wave_.at(axis) = (from_lowest + grid.at(axis) - span) % grid.at(axis);
  }
  in_precision(type_, [&](auto real) {
    write_coefficients(run_.stream(), static_cast<Complex<decltype(real)>*>(coefficients), {rows_, grid[0], sphere()},
                       layout_.rows.size(), Truth{place_of(grid), place_of(wave_), seed_, kind_ == Kind::wave});
  });
}

Verdict PlaneWaves::compare_coefficients(const void* coefficients, double tolerance) {
  const Extents& grid = layout_.distribution.grid;
  return in_precision(type_, [&](auto real) {
    using Real = decltype(real);
    const CoefficientError<Real> error{static_cast<const Complex<Real>*>(coefficients),
                                       {rows_, grid[0], sphere()},
                                       {place_of(grid), place_of(wave_), seed_, kind_ == Kind::wave}};
    Verdict verdict = verdict_of(run_.stream(), sums_, layout_.rows.size() * grid[0], error, tolerance, "coefficient");
    verdict.elements = layout_.coefficients();
    return verdict;
  });
}

Verdict PlaneWaves::compare_points(const void* points, double tolerance) {
  const Extents& grid = layout_.distribution.grid;
  return in_precision(type_, [&](auto real) {
    using Real = decltype(real);
    const PointError<Real> error{static_cast<const Complex<Real>*>(points),
                                 {layout_.x, layout_.y, grid[2]},
                                 {place_of(grid), place_of(wave_), seed_, true}};
    return verdict_of(run_.stream(), sums_, layout_.points(), error, tolerance, "point");
  });
}

template <class Real>
Complex<double> PlaneWaves::sum_at(const Extents& point) {
  static_assert(sizeof(Errors) == sizeof(Complex<double>));
  const Extents& grid = layout_.distribution.grid;
  sum_waves<Real>(run_.stream(), {rows_, grid[0], sphere()}, layout_.rows.size(),
                  {place_of(grid), place_of(wave_), seed_, kind_ == Kind::wave}, place_of(point),
                  sums_.as<Complex<double>>());
  Complex<double> sum{0, 0};
  for (const Complex<double>& worker : device::download(sums_.as<Complex<double>>(), workers, run_.stream())) {
    sum.real += worker.real;
    sum.imaginary += worker.imaginary;
  }
  return {run_.communicator().sum_of_reals(sum.real), run_.communicator().sum_of_reals(sum.imaginary)};
}

Verdict PlaneWaves::compare_a_point(const void* points, double tolerance) {
  const Extents& grid = layout_.distribution.grid;
  const Extents point{pattern::mix(1, seed_) % grid[0], pattern::mix(2, seed_) % grid[1],
                      pattern::mix(3, seed_) % grid[2]};
  return in_precision(type_, [&](auto real) {
    using Real = decltype(real);
    const Complex<double> expected = sum_at<Real>(point);
    const std::size_t x = point[0] - layout_.x.begin;  // wraps around where another rank has the point
    const std::size_t y = point[1] - layout_.y.begin;
    if (x >= layout_.x.count || y >= layout_.y.count) return Verdict{};
    const std::size_t index = (x * layout_.y.count + y) * grid[2] + point[2];
    const auto computed = device::download(static_cast<const Complex<Real>*>(points) + index, run_.stream());
    const double all = static_cast<double>(grid[0]) * static_cast<double>(grid[1]) * static_cast<double>(grid[2]);
    const double error = distance(computed, expected);
    const double allowed = tolerance * std::sqrt(all);
    Verdict verdict{.elements = 1};
    if (error <= allowed) return verdict;
    std::ostringstream text;
    text << "point (" << point[0] << ", " << point[1] << ", " << point[2] << ") is " << error
         << " from the sum of all coefficients; at most " << allowed << " is allowed";
    verdict.error = text.str();
    return verdict;
  });
}

}  // namespace commlens
