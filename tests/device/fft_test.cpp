// Fourier transforms in every memory, compared with explicit sums.
#include "device/fft.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "every_memory.hpp"

namespace commlens::device {
namespace {

using Lengths = std::vector<std::size_t>;
using Wide = std::complex<long double>;

std::size_t product(const Lengths& lengths) {
  std::size_t size = 1;
  for (const std::size_t length : lengths) size *= length;
  return size;
}

/// Without a pattern that would hide a wrong stride or a wrong order; the same in all types, without rounding.
template <class Real>
std::vector<std::complex<Real>> numbers_of(std::size_t count) {
  std::vector<std::complex<Real>> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto part = [&](std::size_t salt) { return static_cast<Real>((i * i * 31 + i * 7 + salt) % 101) / 64 - 1; };
    numbers[i] = {part(3), part(58)};
  }
  return numbers;
}

std::vector<Wide> roots_of_unity(std::size_t length, int sign) {
  std::vector<Wide> roots(length);
  for (std::size_t k = 0; k < length; ++k) {
    const auto angle =
        2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(length);
    roots[k] = std::polar(1.0L, static_cast<long double>(sign) * angle);
  }
  return roots;
}

/// In one dimension, of as many numbers as there are roots, with a distance of `stride`.
void transform(Wide* data, std::size_t stride, const std::vector<Wide>& roots) {
  const std::size_t length = roots.size();
  std::vector<Wide> result(length);
  for (std::size_t k = 0; k < length; ++k) {
    long double real = 0;  // explicitly: the product of std::complex checks for infinities, which is slow
    long double imaginary = 0;
    for (std::size_t j = 0, turn = 0; j < length; ++j, turn += turn + k < length ? k : k - length) {
      const Wide& number = data[j * stride];
      const Wide& root = roots[turn];
      real += number.real() * root.real() - number.imag() * root.imag();
      imaginary += number.real() * root.imag() + number.imag() * root.real();
    }
    result[k] = {real, imaginary};
  }
  for (std::size_t k = 0; k < length; ++k) data[k * stride] = result[k];
}

/// The transforms of so many arrays of numbers_of(). They take most of the time: one serves several types.
std::vector<Wide> transformed(const Lengths& lengths, std::size_t count, Direction direction) {
  auto data = numbers_of<long double>(product(lengths) * count);
  const int sign = direction == Direction::forward ? -1 : 1;
  const std::size_t columns = lengths.back();
  const auto along_rows = roots_of_unity(columns, sign);
  for (std::size_t row = 0; row < data.size(); row += columns) transform(&data[row], 1, along_rows);
  if (lengths.size() == 2) {
    const auto along_columns = roots_of_unity(lengths.front(), sign);
    for (std::size_t array = 0; array < data.size(); array += product(lengths)) {
      for (std::size_t column = 0; column < columns; ++column) {
        transform(&data[array + column], columns, along_columns);
      }
    }
  }
  return data;
}

/// The largest difference, in units of the rounding error of the largest number.
template <class Real>
double error_of(const std::vector<std::complex<Real>>& computed, const std::vector<Wide>& expected) {
  long double difference = 0;
  long double largest = 0;
  for (std::size_t i = 0; i < computed.size(); ++i) {
    const long double square = std::norm(Wide(computed[i]) - expected[i]);
    if (!std::isfinite(square)) return std::numeric_limits<double>::infinity();
    difference = std::max(difference, square);
    largest = std::max(largest, std::norm(expected[i]));
  }
  return largest == 0 ? 0 : static_cast<double>(std::sqrt(difference / largest) / std::numeric_limits<Real>::epsilon());
}

constexpr double tolerance = 30;

class FftOnEveryMemory : public OnEveryMemory {
 protected:
  /// A buffer with the numbers, `offset` elements after its beginning, and space for as many after them.
  template <class Element>
  struct Placed {
    Buffer buffer;
    std::size_t count = 0;
    std::size_t offset = 0;
    [[nodiscard]] Element* data() const { return buffer.as<Element>() + offset; }
  };

  template <class Element>
  Placed<Element> placed(const std::vector<Element>& values, std::size_t offset) {
    Placed<Element> place{allocate((values.size() + 2 * offset) * sizeof(Element)), values.size(), offset};
    stream->fill(place.buffer.data(), 0xa5, place.buffer.bytes());
    upload(values, place.data(), *stream);
    return place;
  }

  template <class Element>
  std::vector<Element> read(const Placed<Element>& place) {
    const auto all = downloaded<Element>(place.buffer);
    for (std::size_t i = 0; i < place.offset; ++i) {
      const auto untouched = [](const Element& element) {
        const auto* bytes = reinterpret_cast<const unsigned char*>(&element);
        return std::all_of(bytes, bytes + sizeof(Element), [](unsigned char byte) { return byte == 0xa5; });
      };
      EXPECT_TRUE(untouched(all[i])) << i << " before";
      EXPECT_TRUE(untouched(all[all.size() - 1 - i])) << i << " after";
    }
    return {all.begin() + static_cast<std::ptrdiff_t>(place.offset),
            all.end() - static_cast<std::ptrdiff_t>(place.offset)};
  }

  /// `forward` and `backward` are what must come out.
  template <class Real>
  void check(const Lengths& lengths, std::size_t count, const std::vector<Wide>& forward,
             const std::vector<Wide>& backward, std::size_t offset_in, std::size_t offset_out) {
    using Element = std::complex<Real>;
    const FftShape shape{sizeof(Real) == 4 ? DataType::c64 : DataType::c128, lengths, count};
    SCOPED_TRACE(std::string(name(shape.type)) + ", " + std::to_string(lengths.front()) + " x " +
                 std::to_string(lengths.size() > 1 ? lengths.back() : 1) + ", " + std::to_string(count) + " arrays");
    const auto fft = device->fft(GetParam(), shape);
    EXPECT_FALSE(fft->library().empty());
    const auto input = numbers_of<Real>(product(lengths) * count);
    for (const auto direction : {Direction::forward, Direction::backward}) {
      const auto& expected = direction == Direction::forward ? forward : backward;
      const auto in = placed(input, offset_in);
      const auto out = placed(std::vector<Element>(input.size()), offset_out);
      fft->execute(in.data(), out.data(), direction, *stream);
      EXPECT_LE(error_of(read(out), expected), tolerance) << "out of place";
      EXPECT_EQ(read(in), input) << "the input of a transform out of place";
      fft->execute(in.data(), in.data(), direction, *stream);
      EXPECT_LE(error_of(read(in), expected), tolerance) << "in place";
    }
  }

  void check_both_types(const Lengths& lengths, std::size_t count, std::size_t offset_in = 0,
                        std::size_t offset_out = 0) {
    const auto forward = transformed(lengths, count, Direction::forward);
    const auto backward = transformed(lengths, count, Direction::backward);
    check<float>(lengths, count, forward, backward, offset_in, offset_out);
    check<double>(lengths, count, forward, backward, offset_in, offset_out);
  }
};

/// Of two dimensions the last is the fastest. No arrays are allowed, and many, whichever way a library divides them.
TEST_P(FftOnEveryMemory, OneAndTwoDimensionsOfAnyNumberOfArrays) {
  for (const Lengths& lengths :
       {Lengths{1}, Lengths{2}, Lengths{7}, Lengths{12}, Lengths{64}, Lengths{125}, Lengths{127}, Lengths{5, 7},
        Lengths{12, 9}, Lengths{64, 64}, Lengths{1, 8}, Lengths{8, 1}}) {
    for (const std::size_t count : {1, 33}) check_both_types(lengths, count);
  }
  for (const Lengths& lengths : {Lengths{7}, Lengths{5, 7}}) {
    for (const std::size_t count : {0, 3}) check_both_types(lengths, count);
  }
  check_both_types({7}, 12'345);
  check_both_types({125}, 601);
  check_both_types({175, 189}, 3);  // an odd number of elements, and few arrays in a batch
}

TEST_P(FftOnEveryMemory, BeginAtAnyElement) {
  for (const std::size_t in : {0, 1}) {
    for (const std::size_t out : {0, 1}) {
      for (const Lengths& lengths : {Lengths{7}, Lengths{64}, Lengths{125}, Lengths{5, 7}}) {
        check_both_types(lengths, 3, in, out);
      }
    }
  }
}

TEST_P(FftOnEveryMemory, ForwardAndBackTimesTheLength) {
  constexpr std::size_t length = 125;
  constexpr std::size_t count = 40;
  const auto fft = device->fft(GetParam(), {DataType::c128, {length}, count});
  const auto input = numbers_of<double>(length * count);
  std::vector<Wide> expected(input.begin(), input.end());
  for (Wide& number : expected) number *= length;
  const auto data = placed(input, 0);
  fft->execute(data.data(), data.data(), Direction::forward, *stream);
  fft->execute(data.data(), data.data(), Direction::backward, *stream);
  EXPECT_LE(error_of(read(data), expected), tolerance);
}

TEST_P(FftOnEveryMemory, APlaneWaveBecomesOneNumber) {
  constexpr std::size_t length = 64;
  constexpr std::size_t wave = 5;
  const auto fft = device->fft(GetParam(), {DataType::c128, {length}, 1});
  std::vector<std::complex<double>> input(length);
  for (std::size_t i = 0; i < length; ++i) {
    input[i] = std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(wave * i) / length);
  }
  std::vector<Wide> expected(length);
  expected[wave] = length;
  const auto data = placed(input, 0);
  fft->execute(data.data(), data.data(), Direction::forward, *stream);
  EXPECT_LE(error_of(read(data), expected), tolerance) << "forward is exp(-2 pi i j k / n)";
}

TEST_P(FftOnEveryMemory, ComesAfterWhatIsOnTheStreamAlready) {
  const std::vector<std::complex<double>> numbers{3, 1};
  const auto fft = device->fft(GetParam(), {DataType::c128, {2}, 1});
  const auto data = placed(std::vector<std::complex<double>>(2), 0);
  stream->copy(data.data(), numbers.data(), 2 * sizeof numbers.front());
  fft->execute(data.data(), data.data(), Direction::forward, *stream);
  EXPECT_EQ(read(data), (std::vector<std::complex<double>>{4, 2}));
}

TEST_P(FftOnEveryMemory, RefusesWhatNoLibraryTakes) {
  const auto plan = [&](const FftShape& shape) { (void)device->fft(GetParam(), shape); };
  for (const auto type : {DataType::i32, DataType::f32, DataType::f64}) {
    EXPECT_THROW(plan({type, {8}, 1}), std::invalid_argument);
    EXPECT_THROW(plan({type, {8}, 0}), std::invalid_argument);
  }
  EXPECT_THROW(plan({DataType::c128, {}, 1}), std::invalid_argument);
  EXPECT_THROW(plan({DataType::c128, {2, 2, 2}, 1}), std::invalid_argument);
  EXPECT_THROW(plan({DataType::c128, {0}, 1}), Error);
  EXPECT_THROW(plan({DataType::c128, {8, 0}, 1}), Error);
  EXPECT_THROW(plan({DataType::c64, {std::size_t{1} << 31}, 1}), Error);
  EXPECT_THROW(plan({DataType::c64, {std::size_t{1} << 30, std::size_t{1} << 30}, 1}), Error);
  EXPECT_THROW(plan({DataType::c64, {8}, std::numeric_limits<std::size_t>::max() / 4}), Error);
  EXPECT_THROW(plan({DataType::c64, {8}, std::numeric_limits<std::size_t>::max()}), Error);
}

INSTANTIATE_TEST_SUITE_P(Memories, FftOnEveryMemory, every_memory, name_of);

}  // namespace
}  // namespace commlens::device
