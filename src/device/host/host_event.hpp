// Points in the queues of the host's streams, lazy or with a thread.
#pragma once

#include <chrono>
#include <memory>

#include "device/device.hpp"

namespace commlens::device::host {

/// May outlive its stream.
class Point {
 public:
  virtual ~Point() = default;
  /// Returns once the queue has come here.
  virtual void wait() = 0;
  /// True if it comes here only while somebody waits.
  [[nodiscard]] virtual bool lazy() const = 0;

  std::chrono::steady_clock::time_point time;  ///< when the queue came here
};

/// What is recorded is a point of its own, so that recording the event again does not move what others wait for.
class HostEvent final : public Event {
 public:
  void wait() override;
  double seconds_since(Event& earlier) override;

  std::shared_ptr<Point> point;
};

}  // namespace commlens::device::host
