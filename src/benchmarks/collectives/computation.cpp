#include "benchmarks/collectives/computation.hpp"

#include <algorithm>
#include <vector>

#include "base/stopwatch.hpp"
#include "device/launch.hpp"

namespace commlens::collectives {

namespace {

constexpr std::size_t threads = std::size_t{1} << 14;  // enough for every multiprocessor of a GPU

/// Each step waits for the one before.
COMMLENS_FUNCTION inline double multiply_add(double x, std::size_t steps) {
  for (std::size_t i = 0; i < steps; ++i) x = x * 0.999 + 0.001;
  return x;
}

void multiply_add(device::Stream& stream, double* numbers, std::size_t steps) {
  device::launch(stream, threads, COMMLENS_LAMBDA(std::size_t i) { numbers[i] = multiply_add(numbers[i], steps); });
}

/// On the slowest rank, the median of a few.
double seconds_of(Run& run, const std::function<void()>& operate) {
  constexpr std::size_t samples = 21;
  std::vector<double> seconds;
  for (std::size_t i = 0; i < samples; ++i) {
    run.barrier();
    const Stopwatch stopwatch;
    operate();
    run.stream().wait();
    seconds.push_back(stopwatch.seconds());
    heartbeat();
  }
  run.communicator().maximum(seconds);
  std::nth_element(seconds.begin(), seconds.begin() + samples / 2, seconds.end());
  return seconds[samples / 2];
}

}  // namespace

Computation::Computation(Run& run, Compute where, const std::function<void()>& communicate) {
  if (where == Compute::gpu) {
    if (!run.stream().on_gpu()) throw Unsupported("--compute gpu needs buffers on a GPU");
    stream_ = run.concurrent_stream(device::Priority::normal);
    numbers_ = run.device().allocate(device::Memory::device, threads * sizeof(double));
    stream_->fill(numbers_.data(), 0, numbers_.bytes());
  } else {
    numbers_ = run.device().allocate(device::Memory::host, sizeof(double));
    *numbers_.as<double>() = 1;
  }
  const double communication_s = seconds_of(run, communicate);
  const auto steps = static_cast<double>(steps_for(communication_s));
  steps_ = static_cast<std::size_t>(run.communicator().maximum(steps));
}

void Computation::start() { compute(steps_); }

void Computation::finish() {
  if (stream_) stream_->wait();
}

void Computation::compute(std::size_t steps) {
  auto* numbers = numbers_.as<double>();
  if (stream_) return multiply_add(*stream_, numbers, steps);
  *numbers = multiply_add(*numbers, steps);
}

std::size_t Computation::steps_for(double seconds) {
  constexpr double least_s = 1e-3;  // which a clock measures well
  std::size_t steps = 1000;
  double taken = 0;
  for (; taken < least_s; steps *= 2) {
    const Stopwatch stopwatch;
    compute(steps);
    finish();
    taken = stopwatch.seconds();
  }
  const double per_second = static_cast<double>(steps) / (2 * taken);
  return std::max<std::size_t>(1, static_cast<std::size_t>(per_second * seconds));
}

}  // namespace commlens::collectives
