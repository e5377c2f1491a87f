#include "device/host/host_stream.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>

#include "base/error.hpp"

namespace commlens::device::host {

using Clock = std::chrono::steady_clock;

// ---- events ----

void HostEvent::wait() {
  if (point) point->wait();
}

double HostEvent::seconds_since(Event& earlier) {
  auto& other = dynamic_cast<HostEvent&>(earlier);
  if (!point || !other.point) throw Error("seconds_since: an event was never recorded");
  other.wait();
  wait();
  return std::chrono::duration<double>(point->time - other.point->time).count();
}

std::unique_ptr<Event> make_event() { return std::make_unique<HostEvent>(); }

// ---- common to all queues ----

void HostStream::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  add([=] { std::memcpy(to, from, bytes); });
}

void HostStream::fill(void* data, unsigned char value, std::size_t bytes) {
  if (bytes == 0) return;
  add([=] { std::memset(data, value, bytes); });
}

void HostStream::enqueue(std::function<void()> work) { add(std::move(work)); }

void HostStream::record(Event& event) {
  auto& recorded = dynamic_cast<HostEvent&>(event).point;
  recorded = end();
}

namespace {

/// In a queue that has wait_until() and `lazy`.
template <class Queue>
class PointIn final : public Point {
 public:
  explicit PointIn(std::shared_ptr<Queue> queue) : queue_(std::move(queue)) {}
  void wait() override { queue_->wait_until(position); }
  [[nodiscard]] bool lazy() const override { return Queue::lazy; }

  std::uint64_t position = 0;

 private:
  std::shared_ptr<Queue> queue_;
};

}  // namespace

// ---- lazy ----

struct LazyStream::Queue {
  static constexpr bool lazy = true;
  std::deque<std::function<void()>> work;
  std::uint64_t added = 0;
  std::uint64_t done = 0;

  void wait_until(std::uint64_t position) {
    while (done < position) {
      // Removed first: the function may itself wait for an event of this stream.
      auto function = std::move(work.front());
      work.pop_front();
      function();
      ++done;
    }
  }
};

LazyStream::LazyStream() : queue_(std::make_shared<Queue>()) {}

LazyStream::~LazyStream() { wait(); }

void LazyStream::wait() { queue_->wait_until(queue_->added); }

bool LazyStream::idle() const { return queue_->done == queue_->added; }

void LazyStream::add(std::function<void()> function) {
  queue_->work.push_back(std::move(function));
  ++queue_->added;
}

std::shared_ptr<Point> LazyStream::end() {
  auto point = std::make_shared<PointIn<Queue>>(queue_);
  add([point] { point->time = Clock::now(); });
  point->position = queue_->added;
  return point;
}

void LazyStream::wait_for(Event& event) {
  if (auto point = dynamic_cast<HostEvent&>(event).point) add([point] { point->wait(); });
}

// ---- concurrent ----

struct ConcurrentStream::Queue {
  static constexpr bool lazy = false;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> work;
  std::uint64_t added = 0;
  std::uint64_t done = 0;
  bool closed = false;  ///< nothing will be added any more

  void wait_until(std::uint64_t position) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return done >= position; });
  }

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return !work.empty() || closed; });
      if (work.empty()) return;
      auto function = std::move(work.front());
      work.pop_front();
      lock.unlock();
      function();
      function = nullptr;  // destroyed without holding the lock
      lock.lock();
      ++done;
      changed.notify_all();
    }
  }

  /// Work that is dropped counts as done, so that nobody waits for it.
  void close(bool drop) {
    const std::scoped_lock lock(mutex);
    if (drop) {
      done += work.size();
      work.clear();
    }
    closed = true;
    changed.notify_all();
  }
};

ConcurrentStream::ConcurrentStream() : queue_(std::make_shared<Queue>()), thread_([queue = queue_] { queue->run(); }) {}

ConcurrentStream::~ConcurrentStream() { queue_->close(std::uncaught_exceptions() > 0); }

void ConcurrentStream::wait() {
  queue_->wait_until(queue_->added);  // only this thread adds
}

bool ConcurrentStream::idle() const {
  const std::scoped_lock lock(queue_->mutex);
  return queue_->done == queue_->added;
}

void ConcurrentStream::add(std::function<void()> function) {
  const std::scoped_lock lock(queue_->mutex);
  queue_->work.push_back(std::move(function));
  ++queue_->added;
  queue_->changed.notify_all();
}

std::shared_ptr<Point> ConcurrentStream::end() {
  auto point = std::make_shared<PointIn<Queue>>(queue_);
  point->position = queue_->added + 1;
  add([point] { point->time = Clock::now(); });
  return point;
}

void ConcurrentStream::wait_for(Event& event) {
  const auto point = dynamic_cast<HostEvent&>(event).point;
  if (!point) return;
  if (point->lazy()) {
    point->wait();
  } else {
    add([point] { point->wait(); });
  }
}

}  // namespace commlens::device::host
