// The steps of an operation, told to whoever observes them.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "device/device.hpp"

namespace commlens {

/// Is told of each step of an operation as the step's work is added to a stream. Steps do not nest: each ends before
/// the next begins.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  /// A step of `part`. `index` numbers it where the operation has numbers of its own for its steps, such as blocks.
  virtual void begin(std::string_view part, device::Stream& stream, std::optional<std::size_t> index) = 0;
  virtual void end(device::Stream& stream) = 0;
};

/// Does `work`, which adds to `stream`, as a step of `part`. Without an observer it does nothing else.
template <class Work>
void observed(StepObserver* observer, std::string_view part, device::Stream& stream, Work work,
              std::optional<std::size_t> index = std::nullopt) {
  if (observer != nullptr) observer->begin(part, stream, index);
  work();
  if (observer != nullptr) observer->end(stream);
}

}  // namespace commlens
