// Buffers, streams, events, copies, launch, launch_sum and find_first, on every memory that the machine has.
#include "device/device.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "device/device.hpp"
#include "device/launch.hpp"
#include "device/steps.hpp"
#include "device/upload.hpp"
#include "every_memory.hpp"

namespace commlens::device {
namespace {

// Kernels stand in functions of their own: nvcc takes no extended lambda within the private functions of a test.
void write_index(Stream& stream, int* data, std::size_t n) {
  launch(stream, n, COMMLENS_LAMBDA(std::size_t i) { data[i] = static_cast<int>(i) + 1; });
}

void count_visits(Stream& stream, int* data, std::size_t n, Traversal traversal) {
  launch(stream, n, COMMLENS_LAMBDA(std::size_t i) { ++data[i]; }, traversal);
}

void increment(Stream& stream, int* data, std::size_t n) {
  launch(stream, n, COMMLENS_LAMBDA(std::size_t i) { ++data[i]; });
}

/// Of indices that other blocks have written, those that begin last among them.
void increment_into(Stream& stream, const int* from, int* to, std::size_t n) {
  launch(stream, n, COMMLENS_LAMBDA(std::size_t i) { to[i] = from[n - 1 - i] + 1; });
}

std::size_t first_different(Stream& stream, const int* data, std::size_t n, int offset) {
  return find_first(stream, n, COMMLENS_LAMBDA(std::size_t i) { return data[i] != static_cast<int>(i) + offset; });
}

/// Adds up terms and counts in `visits` how often each is asked for. What prepare() sets is there when they are.
struct Terms {
  const double* term;
  int* visits;
  double factor = 0;

  COMMLENS_FUNCTION void prepare() { factor = 2; }
  COMMLENS_FUNCTION double operator()(std::size_t i) const {
    ++visits[i];
    return factor * term[i];
  }
};

class EveryMemory : public OnEveryMemory {
 protected:
  std::vector<int> read(const Buffer& buffer) { return downloaded<int>(buffer); }
  Buffer zeros(std::size_t n) {
    auto buffer = allocate(n * sizeof(int));
    stream->fill(buffer.data(), 0, buffer.bytes());
    return buffer;
  }
  /// From 1 to `n`.
  Buffer sequence(std::size_t n) {
    auto buffer = allocate(n * sizeof(int));
    write_index(*stream, buffer.as<int>(), n);
    return buffer;
  }
};

TEST_P(EveryMemory, BothTraversalsReachEveryIndexOnce) {
  for (const Traversal traversal : {Traversal::forward, Traversal::backward}) {
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{32}, std::size_t{33}, std::size_t{257},
                                std::size_t{20'000'003}}) {
      const auto buffer = zeros(n);
      count_visits(*stream, buffer.as<int>(), n, traversal);
      EXPECT_EQ(read(buffer), std::vector<int>(n, 1)) << n;
    }
  }
}

TEST_P(EveryMemory, FindFirstGivesTheSmallestIndexOrTheCount) {
  constexpr std::size_t n = 100'003;
  const auto buffer = sequence(n);
  EXPECT_EQ(first_different(*stream, buffer.as<int>(), n, 1), n);
  EXPECT_EQ(first_different(*stream, buffer.as<int>(), n, 2), 0U);
  const int wrong = -5;
  for (const std::size_t at : {n - 1, std::size_t{70'001}, std::size_t{333}}) {
    stream->copy(buffer.as<int>() + at, &wrong, sizeof wrong);
    EXPECT_EQ(first_different(*stream, buffer.as<int>(), n, 1), at);
  }
  EXPECT_EQ(first_different(*stream, buffer.as<int>(), 0, 1), 0U);
}

TEST_P(EveryMemory, WhatIsCapturedIsDoneWhenItIsLaunched) {
  constexpr std::size_t n = 1003;
  const auto buffer = sequence(n);
  bool called = false;
  const auto graph = stream->capture([&] {
    called = true;
    stream->fill(buffer.data(), 0, buffer.bytes());
    increment(*stream, buffer.as<int>(), n);
    increment(*stream, buffer.as<int>(), n);
  });
  EXPECT_EQ(called, stream->on_gpu());
  EXPECT_EQ(first_different(*stream, buffer.as<int>(), n, 1), n) << "before it is launched";
  EXPECT_EQ(graph != nullptr, stream->on_gpu());
  if (graph == nullptr) return;
  for (int launches = 0; launches < 3; ++launches) {
    write_index(*stream, buffer.as<int>(), n);
    graph->launch(*stream);
    EXPECT_EQ(read(buffer), std::vector<int>(n, 2));
  }
}

TEST_P(EveryMemory, KernelsReadWhatOthersHaveWrittenDirectlyBefore) {
  constexpr std::size_t n = 1'000'003;
  constexpr int kernels = 20;
  const std::array<Buffer, 2> buffers = {zeros(n), zeros(n)};
  Replay replay;
  for (int times = 1; times <= 3; ++times) {
    stream->fill(buffers[0].data(), 0, buffers[0].bytes());
    replay.run(*stream, [&] {
      for (int kernel = 0; kernel < kernels; ++kernel) {
        increment_into(*stream, buffers[kernel % 2].as<int>(), buffers[(kernel + 1) % 2].as<int>(), n);
      }
    });
    EXPECT_EQ(read(buffers[0]), std::vector<int>(n, kernels)) << times;
  }
}

TEST_P(EveryMemory, AStreamIsUsableAfterACaptureThatFailed) {
  if (!stream->on_gpu()) GTEST_SKIP() << "the host has no graphs";
  EXPECT_THROW(static_cast<void>(stream->capture([] { throw Error("in between"); })), Error);
  const auto buffer = sequence(100);
  EXPECT_EQ(first_different(*stream, buffer.as<int>(), 100, 1), 100U);
}

TEST_P(EveryMemory, AReplayDoesTheWorkEveryTime) {
  constexpr std::size_t n = 1003;
  const auto buffer = zeros(n);
  Replay replay;
  int calls = 0;
  for (int times = 1; times <= 5; ++times) {
    replay.run(*stream, [&] {
      ++calls;
      increment(*stream, buffer.as<int>(), n);
    });
    EXPECT_EQ(read(buffer), std::vector<int>(n, times));
  }
  EXPECT_EQ(calls, stream->on_gpu() ? 2 : 5) << "once directly and once for the graph, or each time";
}

/// Of one memory: numbers, and what launch_sum works in.
class Summing {
 public:
  Summing(const std::vector<double>& values, const Allocate& allocate, Stream& stream)
      : terms(upload(values, allocate, stream)),
        visits(upload(std::vector<int>(values.size()), allocate, stream)),
        stream_(stream),
        scratch_(allocate(sum_scratch_bytes)),
        result_(allocate(sizeof(double))) {
    stream.fill(scratch_.data(), 0, sum_scratch_bytes);
  }

  /// Of the first `n`.
  double operator()(std::size_t n) {
    upload(std::vector<double>{-1}, result_.data(), stream_);  // poisoned
    launch_sum(stream_, n, scratch_.data(), result_.as<double>(), Terms{terms.as<double>(), visits.as<int>()});
    return download(result_.as<double>(), stream_);
  }

  /// By the sum in any order, added to `before`.
  double added_to(double before, std::size_t n, Traversal traversal) {
    upload(std::vector<double>{before}, result_.data(), stream_);
    launch_unordered_sum(stream_, n, result_.as<double>(), Terms{terms.as<double>(), visits.as<int>()}, traversal);
    return download(result_.as<double>(), stream_);
  }

  Buffer terms;
  Buffer visits;

 private:
  Stream& stream_;
  Buffer scratch_;
  Buffer result_;
};

TEST_P(EveryMemory, SumsAreExactForIntegersAndAskForEveryTermOnce) {
  // None, one, less and more than a block of a GPU, and more than all blocks of a GPU have threads.
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{31}, std::size_t{257}, std::size_t{4097},
                              std::size_t{1'000'003}, std::size_t{2}}) {
    std::vector<double> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<double>(i % 1000) - 300;
    Summing sum(values, allocator, *stream);
    const double expected = 2 * std::accumulate(values.begin(), values.end(), 0.0);
    EXPECT_EQ(sum(n), expected) << n;
    EXPECT_EQ(sum.added_to(7, n, Traversal::forward), 7 + expected) << n;
    EXPECT_EQ(sum.added_to(-7, n, Traversal::backward), expected - 7) << n;
    EXPECT_EQ(read(sum.visits), std::vector<int>(n, 3)) << n;
  }
}

TEST_P(EveryMemory, SumsOfTheSameNumbersHaveTheSameBits) {
  constexpr std::size_t n = 300'007;
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = 1.0 / static_cast<double>(i + 1);
  Summing sum(values, allocator, *stream);
  const double first = sum(n);
  EXPECT_NEAR(first, 2 * std::accumulate(values.begin(), values.end(), 0.0), 1e-10);
  for (int repetition = 0; repetition < 20; ++repetition) {
    EXPECT_EQ(sum(n), first);
    sum(11);  // leaves nothing behind for the next
  }
}

TEST_P(EveryMemory, FillAndCopyKeepTheOrderOfTheQueue) {
  const auto first = allocate(12);
  const auto second = allocate(12);
  stream->fill(first.data(), 1, 12);
  stream->copy(second.data(), first.data(), 12);
  stream->fill(first.data(), 2, 12);
  EXPECT_EQ(read(second), std::vector<int>(3, 0x01010101));
  EXPECT_EQ(read(first), std::vector<int>(3, 0x02020202));
}

TEST_P(EveryMemory, ArraysAreUploadedAndDownloaded) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1003}}) {
    std::vector<int> values(count);
    std::iota(values.begin(), values.end(), 7);
    const Buffer buffer = uploaded(values);
    EXPECT_EQ(buffer.bytes(), count * sizeof(int));
    EXPECT_EQ(buffer.memory(), GetParam());
    EXPECT_EQ(download(buffer.as<int>(), count, *stream), values);
  }
  const std::array<std::int16_t, 3> few{1, 2, 3};
  const Buffer buffer = allocate(sizeof few);
  upload(std::span(few).first(2), buffer.data(), *stream);
  upload(std::span(few).last(1), buffer.as<std::int16_t>() + 2, *stream);
  EXPECT_EQ(download(buffer.as<std::int16_t>() + 1, *stream), 2);
  EXPECT_EQ(download(buffer.as<std::int16_t>() + 2, *stream), 3);
}

TEST_P(EveryMemory, StepsAreObservedAsTheyAreAdded) {
  /// Writes down what it is told, while the work is not done yet on a lazy stream.
  class Recorder final : public StepObserver {
   public:
    void begin(std::string_view part, Stream& /*stream*/, std::optional<std::size_t> index) override {
      text += std::string(part) + (index ? std::to_string(*index) : "") + "(";
    }
    void end(Stream& /*stream*/) override { text += ")"; }
    std::string text;
  };
  Recorder recorder;
  int added = 0;
  observed(&recorder, "a", *stream, [&] { ++added; });
  observed(&recorder, "b", *stream, [&] { recorder.text += "x"; }, 3);
  observed(nullptr, "c", *stream, [&] { ++added; });
  EXPECT_EQ(recorder.text, "a()b3(x)");
  EXPECT_EQ(added, 2);
}

TEST_P(EveryMemory, StreamsKnowWhetherTheyAreOfAGpu) {
  EXPECT_EQ(stream->on_gpu(), on_gpu(GetParam()) && backend() != "host");
  EXPECT_EQ(stream->native() != nullptr, stream->on_gpu());
}

TEST_P(EveryMemory, EnqueuedFunctionsRunInOrderAndOnlyAfterAWait) {
  std::vector<int> order;
  stream->enqueue([&] { order.push_back(1); });
  stream->enqueue([&] { order.push_back(2); });
  stream->wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_P(EveryMemory, AStreamIsIdleUntilSomethingIsAddedAndAfterAWait) {
  const auto buffer = allocate(1000 * sizeof(int));
  EXPECT_TRUE(stream->idle());
  write_index(*stream, buffer.as<int>(), 1000);
  EXPECT_FALSE(stream->idle());
  stream->wait();
  EXPECT_TRUE(stream->idle());
}

TEST_P(EveryMemory, AStreamWaitsForAnEventOfAnother) {
  const auto buffer = allocate(1000 * sizeof(int));
  const auto other = device->stream(GetParam());
  const auto written = device->event(GetParam());
  write_index(*other, buffer.as<int>(), 1000);
  other->record(*written);
  stream->wait_for(*written);
  EXPECT_EQ(read(buffer).at(999), 1000);
}

TEST_P(EveryMemory, EventsMeasureTime) {
  const auto start = device->event(GetParam());
  const auto end = device->event(GetParam());
  EXPECT_NO_THROW(start->wait()) << "an event never recorded counts as past";
  const auto buffer = allocate(std::size_t{1} << 24);
  stream->record(*start);
  stream->fill(buffer.data(), 3, buffer.bytes());
  stream->record(*end);
  const double seconds = end->seconds_since(*start);
  EXPECT_GT(seconds, 0);
  EXPECT_LT(seconds, 10);
}

TEST_P(EveryMemory, ASizeBeyondTheMachineIsAnErrorThatNamesTheCall) {
  try {
    (void)allocate(std::size_t{1} << 60);
    FAIL() << "allocated 2^60 bytes";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_TRUE(text.find("lloc") != std::string::npos || text.starts_with("mmap")) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Memories, EveryMemory, every_memory, name_of);

#ifdef __SANITIZE_ADDRESS__
TEST(Host, HasBuffersWhoseEndTheSanitizerKnows) {
  const auto buffer = open_host()->allocate(Memory::host, 100);
  EXPECT_FALSE(__asan_address_is_poisoned(buffer.as<std::byte>() + 99));
  EXPECT_TRUE(__asan_address_is_poisoned(buffer.as<std::byte>() + 100));
}
#endif

TEST(Host, HasNoGpuMemory) {
  const auto device = open_host();
  EXPECT_TRUE(device->has(Memory::host));
  EXPECT_FALSE(device->has(Memory::device));
  EXPECT_THROW((void)device->allocate(Memory::device, 1), Error);
  EXPECT_GT(device->available(Memory::host), std::size_t{1} << 20);
}

TEST(Names, OfMemoriesGoBothWays) {
  for (const Memory memory : {Memory::host, Memory::pinned, Memory::device, Memory::managed}) {
    EXPECT_EQ(from_name<Memory>(name(memory)), memory);
  }
  EXPECT_FALSE(from_name<Memory>("gpu"));
}

TEST(Gpu, IsKnownByAUniqueNameAndAnAddress) {
  if (gpu_count() == 0) GTEST_SKIP() << "no GPU";
  const auto all = gpus();
  ASSERT_EQ(static_cast<int>(all.size()), gpu_count());
  for (const auto& gpu : all) {
    EXPECT_FALSE(gpu.uuid.empty());
    EXPECT_EQ(gpu.pci.size(), std::string("0000:1b:00.0").size()) << gpu.pci;
    EXPECT_GT(gpu.memory_bytes, std::uint64_t{1} << 30);
  }
}

}  // namespace
}  // namespace commlens::device
