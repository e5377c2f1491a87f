// The host's stream: a lazy queue (see device.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

#include "device/device.hpp"

namespace commlens::device::host {

/// Used from one thread.
class HostStream final : public Stream {
 public:
  HostStream();
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;
  ~HostStream() override;  ///< runs what is left

  void wait() override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void fill(void* data, unsigned char value, std::size_t bytes) override;
  void enqueue(std::function<void()> work) override;
  void record(Event& event) override;
  void wait_for(Event& event) override;
  void* native() override { return nullptr; }

  struct Queue;  ///< shared with the events, which may outlive the stream

 private:
  std::shared_ptr<Queue> queue_;
};

std::unique_ptr<Event> make_event();
Buffer allocate(std::size_t bytes);
std::size_t available();

}  // namespace commlens::device::host
