#include "device/host/host_stream.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace commlens::device::host {

namespace {

// ---- events ----

class Point {
 public:
  virtual ~Point() = default;
  /// Returns once the queue has reached it.
  virtual void wait() = 0;
  /// Whether the queue runs only while somebody waits.
  [[nodiscard]] virtual bool lazy() const = 0;

  SteadyClock::time_point time;  ///< at which the queue reached it
};

/// Recording makes a new point, so that recording again does not change what earlier waits are for.
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

// ---- queues ----

struct LazyQueue {
  static constexpr bool lazy = true;

  std::deque<std::function<void()>> work;
  std::uint64_t added = 0;
  std::uint64_t done = 0;

  void add(std::function<void()> function) {
    work.push_back(std::move(function));
    ++added;
  }
  void wait_until(std::uint64_t position) {
    while (done < position) {
      // Removed first: the function may itself wait for an event of this stream.
      auto function = std::move(work.front());
      work.pop_front();
      function();
      ++done;
    }
  }
  void end() { wait_until(added); }
};

struct ConcurrentQueue {
  static constexpr bool lazy = false;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> work;
  std::uint64_t added = 0;
  std::uint64_t done = 0;
  bool closed = false;  ///< nothing will be added any more
  std::jthread thread{[this] { run(); }};

  void add(std::function<void()> function) {
    const std::scoped_lock lock(mutex);
    work.push_back(std::move(function));
    ++added;
    changed.notify_all();
  }
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
  void end() {
    {
      const std::scoped_lock lock(mutex);
      if (std::uncaught_exceptions() > 0) {
        done += work.size();
        work.clear();
      }
      closed = true;
      changed.notify_all();
    }
    thread.join();
  }
};

template <class Queue>
class PointIn final : public Point {
 public:
  PointIn(std::shared_ptr<Queue> queue, std::uint64_t position) : queue_(std::move(queue)), position_(position) {}

  void wait() override { queue_->wait_until(position_); }
  [[nodiscard]] bool lazy() const override { return Queue::lazy; }

 private:
  std::shared_ptr<Queue> queue_;
  std::uint64_t position_;
};

// ---- streams ----

template <class Queue>
class HostStream final : public Stream {
 public:
  HostStream() = default;
  HostStream(HostStream&&) = delete;
  ~HostStream() override { queue_->end(); }

  void copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    add([=] { std::memcpy(to, from, bytes); });
  }
  void fill(void* data, unsigned char value, std::size_t bytes) override {
    if (bytes == 0) return;
    add([=] { std::memset(data, value, bytes); });
  }
  void enqueue(std::function<void()> work) override { add(std::move(work)); }
  void wait() override {
    queue_->wait_until(queue_->added);  // only this thread adds
    busy_ = false;
  }
  void record(Event& event) override {
    auto point = std::make_shared<PointIn<Queue>>(queue_, queue_->added + 1);
    add([point] { point->time = SteadyClock::now(); });
    dynamic_cast<HostEvent&>(event).point = std::move(point);
  }
  /// A thread of its own cannot wait for an event of a lazy stream, whose queue only a waiting thread runs: the caller
  /// waits immediately.
  void wait_for(Event& event) override {
    const auto point = dynamic_cast<HostEvent&>(event).point;
    if (!point) return;
    if (point->lazy() && !Queue::lazy) {
      point->wait();
    } else {
      add([point] { point->wait(); });
    }
  }
  [[nodiscard]] bool on_gpu() const override { return false; }
  void* native() override { return nullptr; }

 private:
  void add(std::function<void()> work) {
    busy_ = true;
    queue_->add(std::move(work));
  }

  std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
};

}  // namespace

std::unique_ptr<Stream> make_lazy_stream() { return std::make_unique<HostStream<LazyQueue>>(); }
std::unique_ptr<Stream> make_concurrent_stream() { return std::make_unique<HostStream<ConcurrentQueue>>(); }
std::unique_ptr<Event> make_event() { return std::make_unique<HostEvent>(); }

}  // namespace commlens::device::host
