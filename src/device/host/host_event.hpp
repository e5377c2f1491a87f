// Events of the host: points in the queues of its streams.
#pragma once

#include <chrono>
#include <memory>

#include "device/device.hpp"

namespace commlens::device::host {

/// May outlive its stream.
class Point {
 public:
  virtual ~Point() = default;
  /// Returns once the queue has reached it.
  virtual void wait() = 0;
  /// Whether the queue runs only while somebody waits.
  [[nodiscard]] virtual bool lazy() const = 0;

  std::chrono::steady_clock::time_point time;  ///< at which the queue reached it
};

/// Recording makes a new point, so that recording again does not change what earlier waits are for.
class HostEvent final : public Event {
 public:
  void wait() override;
  double seconds_since(Event& earlier) override;

  std::shared_ptr<Point> point;
};

}  // namespace commlens::device::host
