// Work that is done again and again alike: as a graph, where the stream has graphs.
#pragma once

#include <memory>

#include "device/device.hpp"

namespace commlens::device {

class Replay {
 public:
  /// Queues `work`, which must be the same every time: directly the first time, then as a graph, if the stream has any.
  template <class Work>
  void run(Stream& stream, const Work& work) {
    if (graph_ == nullptr && done_before_) graph_ = stream.capture(work);
    done_before_ = true;
    if (graph_ != nullptr) return graph_->launch(stream);
    work();
  }

 private:
  std::unique_ptr<Graph> graph_;
  bool done_before_ = false;
};

}  // namespace commlens::device
