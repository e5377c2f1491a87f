#include <bit>

#include "profile.hpp"

namespace commlens::profile {

constinit thread_local int Call::depth_ = 0;

void Call::wait_for_ranks_of(MPI_Comm communicator) {
  int is_inter = 0;
  profile.library.comm_test_inter(communicator, &is_inter);
  if (is_inter != 0) return;  // a barrier waits for both groups, which the collective may not do
  const std::uint64_t start = profile.clock.ticks();
  profile.library.barrier(communicator);
  const std::uint64_t ticks = profile.clock.ticks() - start;
  const Adder adder(profile.multithreaded);
  adder.add(counters().waiting_ticks, ticks);
  adder.add(counters().ticks, ticks);  // without the barrier the collective would have taken it
}

void Call::count_communicator(MPI_Comm communicator) {
  int size = 0;
  if (profile.library.comm_size(communicator, &size) != MPI_SUCCESS) return;
  const auto value = static_cast<std::uint64_t>(size);
  const Adder adder(profile.multithreaded);
  Counters& own = counters();
  adder.add(own.communicators, 1);
  adder.add(own.communicator_sizes, value);
  const std::uint64_t smallest = own.smallest_communicator.load(std::memory_order_relaxed);
  if (smallest == 0 || value < smallest) Adder::lower(own.smallest_communicator, value);
  if (value > own.largest_communicator.load(std::memory_order_relaxed)) {
    Adder::raise(own.largest_communicator, value);
  }
}

void Call::count_bytes(std::uint64_t bytes) {
  const Adder adder(profile.multithreaded);
  const int bin = bytes == 0 ? 0 : 64 - std::countl_zero(bytes);
  adder.add(counters().bytes, bytes);
  adder.add(counters().bins[bin < size_bins ? bin : size_bins - 1], 1);
  if (call_site_ != nullptr) adder.add(call_site_->bytes, bytes);
}

void Call::count_buffer(const void* buffer) {
  Adder(profile.multithreaded).add(counters().memory[static_cast<int>(memory_kind_of(buffer))], 1);
}

void Call::count_call_site(std::uint64_t ticks) {
  call_site_ = find_call_site(function_, return_address_);
  const Adder adder(profile.multithreaded);
  if (call_site_ == nullptr) {
    adder.add(profile.dropped_call_sites, 1);
    return;
  }
  adder.add(call_site_->calls, 1);
  adder.add(call_site_->ticks, ticks);
}

}  // namespace commlens::profile
