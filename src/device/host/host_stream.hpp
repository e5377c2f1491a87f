// Streams of the host: queues of functions. A lazy stream runs them in the thread that waits (see device.hpp); a
// concurrent one has a thread of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <thread>

#include "device/device.hpp"
#include "device/host/host_event.hpp"

namespace commlens::device::host {

/// What both have in common: all work is functions in the queue.
class HostStream : public Stream {
 public:
  void copy(void* to, const void* from, std::size_t bytes) override;
  void fill(void* data, unsigned char value, std::size_t bytes) override;
  void enqueue(std::function<void()> work) override;
  void record(Event& event) override;
  [[nodiscard]] bool on_gpu() const override { return false; }
  void* native() override { return nullptr; }

 protected:
  virtual void add(std::function<void()> function) = 0;
  /// The present end of the queue.
  [[nodiscard]] virtual std::shared_ptr<Point> end() = 0;
};

/// Used from one thread.
class LazyStream final : public HostStream {
 public:
  LazyStream();
  LazyStream(const LazyStream&) = delete;
  LazyStream& operator=(const LazyStream&) = delete;
  ~LazyStream() override;  ///< runs the rest of its queue

  void wait() override;
  [[nodiscard]] bool idle() const override;
  void wait_for(Event& event) override;

  struct Queue;

 private:
  void add(std::function<void()> function) override;
  [[nodiscard]] std::shared_ptr<Point> end() override;

  std::shared_ptr<Queue> queue_;
};

/// One thread adds to it; its own thread runs the queue.
class ConcurrentStream final : public HostStream {
 public:
  ConcurrentStream();
  ConcurrentStream(const ConcurrentStream&) = delete;
  ConcurrentStream& operator=(const ConcurrentStream&) = delete;
  /// Waits for the rest of its queue; during exception handling it drops what has not begun.
  ~ConcurrentStream() override;

  void wait() override;
  [[nodiscard]] bool idle() const override;
  /// For an event of a lazy stream the caller waits immediately: only a waiting thread runs that queue.
  void wait_for(Event& event) override;

  struct Queue;

 private:
  void add(std::function<void()> function) override;
  [[nodiscard]] std::shared_ptr<Point> end() override;

  std::shared_ptr<Queue> queue_;
  std::jthread thread_;
};

std::unique_ptr<Event> make_event();
Buffer allocate(std::size_t bytes);
std::size_t available();
std::unique_ptr<Blas> make_blas(int threads);
std::unique_ptr<Fft> make_fft(const FftShape& shape);

}  // namespace commlens::device::host
