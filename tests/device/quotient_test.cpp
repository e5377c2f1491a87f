// Quotients within the promised units in the last place, over numbers of many magnitudes.
#include "device/quotient.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "device/launch.hpp"
#include "device/upload.hpp"

namespace commlens::device {
namespace {

/// How far `quotient` is from a / b, in units in the last place of a / b.
double units_off(double quotient, double a, double b) {
  const long double exact = static_cast<long double>(a) / static_cast<long double>(b);
  const auto nearest = std::abs(static_cast<double>(exact));
  const double unit = std::nextafter(nearest, INFINITY) - nearest;
  return static_cast<double>(std::abs(static_cast<long double>(quotient) - exact)) / unit;
}

/// From 2^-300 to 2^300, of both signs: the first ones are powers of two and their neighbors.
std::vector<double> numbers(std::size_t count) {
  std::vector<double> numbers;
  for (int exponent = -300; exponent <= 300; exponent += 20) {
    const double power = std::ldexp(1.0, exponent);
    for (const double number : {power, std::nextafter(power, 0.0), std::nextafter(power, INFINITY)}) {
      numbers.push_back(number);
      numbers.push_back(-number);
    }
  }
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> mantissa(1, 2);
  std::uniform_int_distribution<int> exponent(-300, 300);
  while (numbers.size() < count) {
    numbers.push_back((random() % 2 == 0 ? 1 : -1) * std::ldexp(mantissa(random), exponent(random)));
  }
  return numbers;
}

/// The estimate is off by as much as it may be, in both directions.
TEST(Quotient, OfAnEstimateIsWithinOneAndAHalfUnitsInTheLastPlace) {
  const std::vector<double> b = numbers(100'000);
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double a = b[b.size() - 1 - i];
    for (const double error : {-0x1p-19, -0x1p-23, 0.0, 0x1p-21, 0x1p-19}) {
      const double quotient = quotient_from_estimate(a, b[i], (1 + error) / b[i]);
      ASSERT_LE(units_off(quotient, a, b[i]), 1.6) << a << " / " << b[i] << ", " << error;
    }
  }
}

void divide(Stream& stream, const double* a, const double* b, double* result, std::size_t n) {
  launch(stream, n, COMMLENS_LAMBDA(std::size_t i) { result[i] = quotient(a[i], b[i]); });
}

TEST(Quotient, IsAsPreciseOnTheHostAndOnAGpu) {
  const std::vector<double> b = numbers(100'000);
  const std::vector<double> a(b.rbegin(), b.rend());
  const auto device = gpu_count() > 0 ? open_gpu(0) : open_host();
  for (const Memory memory : {Memory::host, Memory::device}) {
    if (!device->has(memory)) continue;
    const auto stream = device->stream(memory);
    const auto allocate = [&](std::size_t bytes) { return device->allocate(memory, bytes); };
    const auto dividends = upload(a, allocate, *stream);
    const auto divisors = upload(b, allocate, *stream);
    const auto result = allocate(b.size() * sizeof(double));
    divide(*stream, dividends.as<double>(), divisors.as<double>(), result.as<double>(), b.size());
    const auto quotient = download(result.as<double>(), b.size(), *stream);
    for (std::size_t i = 0; i < b.size(); ++i) {
      ASSERT_LE(units_off(quotient[i], a[i], b[i]), 1.6) << a[i] << " / " << b[i] << " in " << name(memory);
    }
  }
}

}  // namespace
}  // namespace commlens::device
