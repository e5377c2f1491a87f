// The streams of host memory: when they do what they were given.
#include "device/host/host_stream.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <future>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "device/device.hpp"

namespace commlens::device {
namespace {

TEST(HostStream, IsLazySoThatAMissingWaitShows) {
  const auto device = open_host();
  const auto stream = device->stream(Memory::host);
  int value = 0;
  stream->enqueue([&] { value = 1; });
  EXPECT_EQ(value, 0);
  stream->wait();
  EXPECT_EQ(value, 1);
}

TEST(HostStream, RunsWhatIsLeftWhenItEnds) {
  int value = 0;
  open_host()->stream(Memory::host)->enqueue([&] { value = 1; });
  EXPECT_EQ(value, 1);
}

TEST(HostStream, AnEventRunsNoMoreThanWhatCameBeforeIt) {
  const auto device = open_host();
  const auto stream = device->stream(Memory::host);
  const auto event = device->event(Memory::host);
  int value = 0;
  stream->enqueue([&] { value = 1; });
  stream->record(*event);
  stream->enqueue([&] { value = 2; });
  event->wait();
  EXPECT_EQ(value, 1);
}

/// Of a host stream with a thread of its own: everything below would wait for ever, or be wrong, with a lazy one.
TEST(ConcurrentHostStream, WorksWhileNobodyWaits) {
  const auto stream = open_host()->concurrent_stream(Memory::host, Priority::normal);
  std::promise<void> worked;
  stream->enqueue([&] { worked.set_value(); });
  EXPECT_EQ(worked.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

TEST(ConcurrentHostStream, TwoOfThemWorkAtTheSameTime) {
  const auto device = open_host();
  const auto first = device->concurrent_stream(Memory::host, Priority::normal);
  const auto second = device->concurrent_stream(Memory::host, Priority::high);
  std::latch both(2);
  first->enqueue([&] { both.arrive_and_wait(); });
  second->enqueue([&] { both.arrive_and_wait(); });
  first->wait();
  second->wait();
}

TEST(ConcurrentHostStream, WaitsForEventsOfOthersAndOthersForIts) {
  const auto device = open_host();
  const auto first = device->concurrent_stream(Memory::host, Priority::normal);
  const auto second = device->concurrent_stream(Memory::host, Priority::normal);
  const auto lazy = device->stream(Memory::host);
  const auto event = device->event(Memory::host);
  std::vector<int> order;  // written by one after the other, if the events hold
  for (int i = 0; i < 100; ++i) {
    for (auto* stream : {first.get(), second.get(), lazy.get()}) {
      stream->wait_for(*event);
      stream->enqueue([&order] { order.push_back(static_cast<int>(order.size())); });
      stream->record(*event);
    }
  }
  event->wait();
  ASSERT_EQ(order.size(), 300U);
  for (int i = 0; i < 300; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(ConcurrentHostStream, EventsOutliveTheirStream) {
  const auto device = open_host();
  const auto event = device->event(Memory::host);
  bool worked = false;
  {
    const auto stream = device->concurrent_stream(Memory::host, Priority::normal);
    stream->enqueue([&] { worked = true; });
    stream->record(*event);
  }
  event->wait();
  EXPECT_TRUE(worked);
}

TEST(ConcurrentHostStream, AfterAnErrorItDropsWhatHasNotBegun) {
  const auto device = open_host();
  const auto event = device->event(Memory::host);
  std::promise<void> fail;
  std::promise<void> release;
  const std::shared_future<void> released(release.get_future());
  const std::jthread releaser([&] {  // while the stream's destructor waits for what has begun
    fail.get_future().wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    release.set_value();
  });
  bool worked = false;
  try {
    const auto stream = device->concurrent_stream(Memory::host, Priority::normal);
    stream->enqueue([&] { released.wait(); });
    stream->enqueue([&] { worked = true; });
    stream->record(*event);
    fail.set_value();
    throw Error("something else went wrong");
  } catch (const Error&) {
  }
  EXPECT_FALSE(worked);
  event->wait();  // what was dropped is not waited for
}

}  // namespace
}  // namespace commlens::device
