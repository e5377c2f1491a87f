#include "device/host/host_stream.hpp"

#include <cstring>

#include "device/error.hpp"

namespace commlens::device::host {

using Clock = std::chrono::steady_clock;

struct HostStream::Queue {
  std::deque<std::function<void()>> work;
  std::uint64_t added = 0;
  std::uint64_t done = 0;

  void add(std::function<void()> function) {
    work.push_back(std::move(function));
    ++added;
  }

  void run_until(std::uint64_t position) {
    while (done < position) {
      // Taken out first: the function may itself wait for this stream through an event.
      auto function = std::move(work.front());
      work.pop_front();
      function();
      ++done;
    }
  }
};

namespace {

struct Point {
  std::shared_ptr<HostStream::Queue> queue;
  std::uint64_t position = 0;
  Clock::time_point time;

  void wait() const {
    if (queue) queue->run_until(position);
  }
};

/// What is recorded is a point of its own, so that recording the event again does not move what others wait for.
class HostEvent final : public Event {
 public:
  void wait() override {
    if (point) point->wait();
  }

  double seconds_since(Event& earlier) override {
    auto& other = dynamic_cast<HostEvent&>(earlier);
    if (!point || !other.point) throw Error("seconds_since: an event was never recorded");
    other.wait();
    wait();
    return std::chrono::duration<double>(point->time - other.point->time).count();
  }

  std::shared_ptr<Point> point;
};

}  // namespace

HostStream::HostStream() : queue_(std::make_shared<Queue>()) {}

HostStream::~HostStream() { wait(); }

void HostStream::wait() { queue_->run_until(queue_->added); }

void HostStream::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  queue_->add([=] { std::memcpy(to, from, bytes); });
}

void HostStream::fill(void* data, unsigned char value, std::size_t bytes) {
  if (bytes == 0) return;
  queue_->add([=] { std::memset(data, value, bytes); });
}

void HostStream::enqueue(std::function<void()> work) { queue_->add(std::move(work)); }

void HostStream::record(Event& event) {
  auto point = std::make_shared<Point>();
  point->queue = queue_;
  queue_->add([point] { point->time = Clock::now(); });
  point->position = queue_->added;
  dynamic_cast<HostEvent&>(event).point = std::move(point);
}

void HostStream::wait_for(Event& event) {
  auto point = dynamic_cast<HostEvent&>(event).point;
  if (point) queue_->add([point] { point->wait(); });
}

std::unique_ptr<Event> make_event() { return std::make_unique<HostEvent>(); }

}  // namespace commlens::device::host
