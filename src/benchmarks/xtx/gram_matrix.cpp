#include "benchmarks/xtx/gram_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <sstream>
#include <vector>

#include "device/launch.hpp"
#include "device/upload.hpp"
#include "harness/pattern.hpp"

namespace commlens::xtx {

namespace {

constexpr std::size_t kinds = GramMatrix::kinds;

COMMLENS_FUNCTION inline std::size_t kind_of_row(std::size_t row) {
  return static_cast<std::size_t>(pattern::mix(row, 0x5EED) % kinds);
}

int digits(DataType type) {
  return in_precision(type, [](auto real) { return std::numeric_limits<decltype(real)>::digits; });
}

/// The number of rows of each kind.
std::vector<double> rows_of_kinds(std::size_t rows) {
  std::vector<double> counts(kinds);
  for (std::size_t row = 0; row < rows; ++row) ++counts[kind_of_row(row)];
  return counts;
}

/// The largest sum over the rows, by the largest number's square. Complex products may be made of sums of both parts.
double growth(DataType type) { return components(type) == 2 ? 8 : 1; }

/// The largest number for which sums over `rows` rows are exact.
std::int64_t largest_integer(DataType type, std::size_t rows) {
  const double room = std::ldexp(1.0, digits(type)) / (growth(type) * static_cast<double>(rows));
  return static_cast<std::int64_t>(std::clamp(std::floor(std::sqrt(room)), 1.0, 32767.0));
}

/// An element of S, and the sum of the magnitudes of its terms.
struct Entry {
  double real;
  double imaginary;
  double magnitude;
};

/// S[j][i] from the kinds: `table` has their rows of `width` reals, `parts` of which make a number.
template <class Real>
COMMLENS_FUNCTION Entry entry_of(const Real* table, const double* counts, std::size_t width, std::size_t parts,
                                 std::size_t j, std::size_t i) {
  Entry entry{0, 0, 0};
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    const Real* row = table + kind * width;
    const double a = row[j * parts];
    const double b = row[i * parts];
    const double a_imaginary = parts == 2 ? row[j * parts + 1] : 0;
    const double b_imaginary = parts == 2 ? row[i * parts + 1] : 0;
    const double real = a * b + a_imaginary * b_imaginary;
    const double imaginary = a * b_imaginary - a_imaginary * b;
    entry.real += counts[kind] * real;
    entry.imaginary += counts[kind] * imaginary;
    entry.magnitude += counts[kind] * ((real < 0 ? -real : real) + (imaginary < 0 ? -imaginary : imaginary));
  }
  return entry;
}

template <class Real>
void write_table(device::Stream& stream, Real* table, std::size_t width, Numbers numbers, std::int64_t largest,
                 std::uint64_t seed) {
  const bool integers = numbers == Numbers::integers;
  const auto values = static_cast<std::uint64_t>(2 * largest + 1);
  device::launch(
      stream, kinds * width, COMMLENS_LAMBDA(std::size_t i) {
        table[i] = static_cast<Real>(integers ? static_cast<double>(pattern::mix(i, seed) % values) -
                                                    static_cast<double>(largest)
                                              : pattern::number_at(i, seed));
      });
}

template <class Real>
void write_rows(device::Stream& stream, Real* x, const Real* table, std::size_t width, Share rows) {
  device::launch(
      stream, rows.count * width,
      COMMLENS_LAMBDA(std::size_t i) { x[i] = table[kind_of_row(rows.begin + i / width) * width + i % width]; });
}

/// Which elements of a panel are compared.
struct Selection {
  std::size_t columns = 0;  ///< of the panel
  std::size_t first = 0;    ///< of the panel
  std::size_t rows = 0;     ///< compared
  std::size_t step = 1;     ///< between them
  bool diagonal = false;    ///< of each row the diagonal element alone

  [[nodiscard]] std::size_t count() const { return diagonal ? rows : rows * columns; }
  [[nodiscard]] COMMLENS_FUNCTION std::size_t row(std::size_t e) const { return (diagonal ? e : e / columns) * step; }
  [[nodiscard]] COMMLENS_FUNCTION std::size_t column(std::size_t e) const { return diagonal ? e : e % columns; }
};

/// The first of the selected elements that is further from S than `tolerance` times its terms; count() if none is.
template <class Real>
std::size_t first_wrong(device::Stream& stream, const Real* elements, const Real* table, const double* counts,
                        std::size_t width, std::size_t parts, Selection selection, double tolerance) {
  return device::find_first(
      stream, selection.count(), COMMLENS_LAMBDA(std::size_t e) {
        const std::size_t row = selection.row(e);
        const std::size_t column = selection.column(e);
        const Entry entry = entry_of(table, counts, width, parts, selection.first + row, selection.first + column);
        const Real* computed = elements + (row * selection.columns + column) * parts;
        const double allowed = tolerance * entry.magnitude;
        const double real = computed[0] - entry.real;
        const double imaginary = parts == 2 ? computed[1] - entry.imaginary : 0;
        const bool right = real <= allowed && -real <= allowed && imaginary <= allowed && -imaginary <= allowed;
        return !right;  // a NaN is wrong
      });
}

}  // namespace

Share Share::of(std::size_t total, int rank, int ranks) {
  const auto r = static_cast<std::size_t>(rank);
  const auto n = static_cast<std::size_t>(ranks);
  return {.begin = total / n * r + std::min(r, total % n), .count = total / n + (r < total % n ? 1 : 0)};
}

GramMatrix::GramMatrix(Run& run, DataType type, std::size_t rows, std::size_t columns)
    : run_(run),
      type_(type),
      rows_(rows),
      columns_(columns),
      table_(run.buffer(kinds * columns * size_of(type))),
      counts_(device::upload(rows_of_kinds(rows), run.context().allocate, run.stream())) {}

std::size_t GramMatrix::most_rows(DataType type, Numbers numbers) {
  const double growing = numbers == Numbers::full ? std::max(8.0, growth(type)) : growth(type);
  return static_cast<std::size_t>(std::ldexp(1.0, digits(type)) / growing);
}

void GramMatrix::write(void* x, Numbers numbers, std::uint64_t seed) {
  numbers_ = numbers;
  seed_ = seed;
  in_precision(type_, [&](auto real) { write_as(static_cast<decltype(real)*>(x)); });
}

template <class Real>
void GramMatrix::write_as(Real* x) {
  const std::size_t width = columns_ * components(type_);
  write_table(run_.stream(), table_.as<Real>(), width, numbers_, largest_integer(type_, rows_), seed_);
  write_rows(run_.stream(), x, table_.as<Real>(), width, Share::of(rows_, run_.rank(), run_.ranks()));
}

Verdict GramMatrix::compare(const void* elements, const Panel& panel, std::size_t step) {
  return in_precision(type_,
                      [&](auto real) { return compare_as(static_cast<const decltype(real)*>(elements), panel, step); });
}

template <class Real>
Verdict GramMatrix::compare_as(const Real* elements, const Panel& panel, std::size_t step) {
  const std::size_t parts = components(type_);
  const std::size_t width = columns_ * parts;
  // The bound that holds for any order of n additions (N. Higham, "Accuracy and Stability of Numerical Algorithms",
  // section 3.1). Rows of few kinds come near it: the same numbers are rounded the same way again and again.
  const double tolerance =
      numbers_ == Numbers::integers ? 0 : static_cast<double>(rows_) * std::numeric_limits<Real>::epsilon();
  Verdict verdict;
  const std::size_t diagonal = std::min(panel.rows, panel.columns);
  for (const Selection& selection : {Selection{panel.columns, panel.first, (panel.rows + step - 1) / step, step, false},
                                     Selection{panel.columns, panel.first, diagonal, 1, true}}) {
    const std::size_t wrong = first_wrong(run_.stream(), elements, table_.as<Real>(), counts_.as<double>(), width,
                                          parts, selection, tolerance);
    verdict.elements += selection.count();
    if (wrong == selection.count() || !verdict.error.empty()) continue;
    verdict.error = error_at(elements, panel, selection.row(wrong), selection.column(wrong));
  }
  return verdict;
}

template <class Real>
std::string GramMatrix::error_at(const Real* elements, const Panel& panel, std::size_t row, std::size_t column) {
  const std::size_t parts = components(type_);
  const std::size_t width = columns_ * parts;
  auto& stream = run_.stream();
  const auto table = device::download(table_.as<Real>(), kinds * width, stream);
  const auto counts = device::download(counts_.as<double>(), kinds, stream);
  const auto computed = device::download(elements + (row * panel.columns + column) * parts, parts, stream);
  const Entry entry = entry_of(table.data(), counts.data(), width, parts, panel.first + row, panel.first + column);
  std::ostringstream text;
  const auto add = [&](double real, double imaginary) {
    text << real;
    if (parts == 2) text << std::showpos << imaginary << std::noshowpos << 'i';
  };
  text << std::setprecision(std::numeric_limits<double>::max_digits10) << "element (" << panel.first + row << ", "
       << panel.first + column << ") of S is ";
  add(computed.front(), computed.back());
  text << ", must be ";
  add(entry.real, entry.imaginary);
  if (numbers_ == Numbers::full) text << " to rounding";
  return text.str();
}

}  // namespace commlens::xtx
