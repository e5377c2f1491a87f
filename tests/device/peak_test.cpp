// What ceilings are made of: kernels of the host, and passes over each kind of memory.
#include "device/host/peak.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "device/traffic.hpp"
#include "every_memory.hpp"

namespace commlens::device {
namespace {

constexpr std::size_t lengths[] = {32, 64, 96, 1024, 4128};

/// 1, 2, 3 ...
Buffer counting(std::size_t n) {
  Buffer numbers = open_host()->allocate(Memory::host, n * sizeof(double));
  std::iota(numbers.as<double>(), numbers.as<double>() + n, 1);
  return numbers;
}

TEST(HostPeak, ASumIsOfAllNumbers) {
  for (const std::size_t n : lengths) {
    EXPECT_EQ(host::sum(counting(n).as<double>(), n), static_cast<double>(n * (n + 1) / 2)) << n;
  }
}

TEST(HostPeak, PassesWriteEveryNumber) {
  for (const std::size_t n : lengths) {
    const Buffer a = counting(n);
    const Buffer b = counting(n);
    const Buffer to = counting(n);
    b.as<double>()[n - 1] = 0;
    host::mean(to.as<double>(), a.as<double>(), b.as<double>(), n);
    for (std::size_t i = 0; i + 1 < n; ++i) ASSERT_EQ(to.as<double>()[i], static_cast<double>(i + 1)) << n;
    EXPECT_EQ(to.as<double>()[n - 1], 0.5 * static_cast<double>(n));
  }
}

TEST(HostPeak, MultiplyAddsAreCounted) {
  for (const bool wide : {false, true}) {
    const double doubles = host::multiply_add(true, wide, 1000).flops;
    EXPECT_EQ(doubles, 1000 * host::multiply_add(true, wide, 1).flops);
    EXPECT_EQ(host::multiply_add(false, wide, 1000).flops, 2 * doubles) << "twice as many floats in a vector";
  }
}

TEST(HostPeak, MultiplyAddsAreDone) {
  constexpr double chains = 12;
  for (const bool wide : {false, true}) {
    for (const bool doubles : {false, true}) {
      for (const std::size_t rounds : {1, 2, 3, 7}) {
        double expected = 0;
        for (int chain = 0; chain < chains; ++chain) {
          double number = 0.5 * chain;
          for (std::size_t round = 0; round < rounds; ++round) number = number * 0.5 + 0.5;
          expected += number;
        }
        const auto done = host::multiply_add(doubles, wide, rounds);
        const double in_a_vector = done.flops / (2 * chains * static_cast<double>(rounds));
        EXPECT_EQ(done.sum, expected * in_a_vector) << rounds << " rounds";
      }
    }
  }
}

class TrafficPasses : public OnEveryMemory {};

TEST_P(TrafficPasses, AreOverAllOfTheBytes) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100'000}, std::size_t{3} << 20}) {
    const Buffer buffer = allocate(bytes + pass_scratch_bytes);
    const auto passes = passes_over(buffer, *stream);
    ASSERT_EQ(passes.size(), 4U);
    for (const Pass& pass : passes) {
      EXPECT_GE(pass.bytes, bytes) << pass.name;
      EXPECT_LT(pass.bytes, bytes + 4096) << pass.name;
      pass.add();
    }
    EXPECT_NO_THROW(stream->wait());
  }
}

TEST_P(TrafficPasses, ReadAndWriteAllNumbers) {
  constexpr std::size_t n = 19200;
  const Buffer buffer = allocate(n * sizeof(double) + pass_scratch_bytes);
  std::vector<double> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 1);
  const auto passes = passes_over(buffer, *stream);
  const auto after = [&](const Pass& pass) {
    EXPECT_EQ(pass.bytes, n * sizeof(double)) << pass.name;
    stream->copy(buffer.data(), numbers.data(), n * sizeof(double));
    pass.add();
    return downloaded<double>(buffer);
  };
  const std::vector<double> read = after(passes.at(0));
  EXPECT_NE(std::find(read.begin() + n, read.end(), static_cast<double>(n * (n + 1) / 2)), read.end()) << "the sum";
  for (const std::size_t way : {1, 2}) {
    const std::vector<double> copied = after(passes.at(way));
    for (std::size_t i = 0; i < n / 2; ++i) ASSERT_EQ(copied[n / 2 + i], numbers[i]) << passes[way].name;
  }
  const std::vector<double> triads = after(passes.at(3));
  for (std::size_t i = 0; i < n / 3; ++i) ASSERT_EQ(triads[n / 3 * 2 + i], 0.5 * (numbers[i] + numbers[n / 3 + i]));
}

INSTANTIATE_TEST_SUITE_P(Memories, TrafficPasses, every_memory, name_of);

}  // namespace
}  // namespace commlens::device
