#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "amounts.hpp"
#include "profile.hpp"

namespace commlens::profile {
namespace {

int size_bin(std::uint64_t bytes) { return std::min(64 - std::countl_zero(bytes), size_bins - 1); }

}  // namespace

constinit thread_local int Call::depth_ = 0;

void Call::wait_for_ranks_of(MPI_Comm communicator) {
  int is_inter = 0;
  profile.library.comm_test_inter(communicator, &is_inter);
  if (is_inter != 0) return;  // a barrier waits for both groups, which the collective may not do
  const std::uint64_t start = profile.clock.ticks();
  profile.library.barrier(communicator);
  count_waiting(profile.clock.ticks() - start);
}

void Call::wait_for_message(int source, int tag, MPI_Comm communicator) {
  const std::uint64_t start = profile.clock.ticks();
  profile.library.probe(source, tag, communicator, MPI_STATUS_IGNORE);
  count_waiting(profile.clock.ticks() - start);
}

void Call::note_start(std::uint64_t bytes) const {
  Exchange& exchange = thread_->exchange;
  exchange = {start_ + ticks_, exchange.is_completed ? bytes : exchange.bytes + bytes, false};
}

void Call::count_late_exchange() const {
  const Exchange& exchange = thread_->exchange;
  if (exchange.last_start == 0) return;  // another thread's
  note_completion();
  count_beyond_fastest(exchange.bytes, start_ + ticks_ - exchange.last_start);
}

void Call::count_beyond_fastest(std::uint64_t bytes, std::uint64_t ticks) const {
  Count& fastest = counters().fastest[size_bin(bytes)];
  Adder::lower(fastest, ticks);
  count_waiting(ticks_ - std::min(ticks_, fastest.load(std::memory_order_relaxed)));
}

void Call::count_waiting(std::uint64_t ticks) const {
  const Adder adder(profile.multithreaded);
  adder.add(counters().waiting_ticks, ticks);
  if (call_site_ != nullptr) adder.add(call_site_->waiting_ticks, ticks);
}

void Call::count_communicator(MPI_Comm communicator) {
  int size = 0;
  if (profile.library.comm_size(communicator, &size) != MPI_SUCCESS) return;
  const auto value = static_cast<std::uint64_t>(size);
  const Adder adder(profile.multithreaded);
  Counters& total = counters();
  adder.add(total.communicators, 1);
  adder.add(total.communicator_sizes, value);
  const std::uint64_t smallest = total.smallest_communicator.load(std::memory_order_relaxed);
  if (smallest == 0 || value < smallest) Adder::lower(total.smallest_communicator, value);
  if (value > total.largest_communicator.load(std::memory_order_relaxed)) {
    Adder::raise(total.largest_communicator, value);
  }
}

void Call::count_bytes(std::uint64_t bytes) {
  const Adder adder(profile.multithreaded);
  adder.add(counters().bytes, bytes);
  adder.add(counters().bins[size_bin(bytes)], 1);
  if (call_site_ != nullptr) adder.add(call_site_->bytes, bytes);
  if (thread_->open_regions > 0) profile.regions.add_bytes(*thread_, function_, bytes);
}

void Call::count_buffer(const void* buffer) {
  Adder(profile.multithreaded).add(counters().memory[static_cast<int>(preload::memory_of(buffer).kind)], 1);
}

void Call::find_site() {
  call_site_ = find_call_site(function_, return_address_);
  thread_->call_site.store(call_site_, std::memory_order_relaxed);
  if (call_site_ == nullptr) Adder(profile.multithreaded).add(profile.dropped_call_sites, 1);
}

void Call::count_call_site() const {
  const Adder adder(profile.multithreaded);
  adder.add(call_site_->calls, 1);
  adder.add(call_site_->ticks, ticks_);
}

namespace amount {
namespace {

struct Degrees {
  int in;
  int out;
};

Degrees degrees(MPI_Comm communicator) {
  int topology = MPI_UNDEFINED;
  Degrees found{};
  const MpiLibrary& library = profile.library;
  library.topo_test(communicator, &topology);
  if (topology == MPI_CART) {
    found.in = found.out = 2 * dimensions(communicator);
  } else if (topology == MPI_GRAPH) {
    int rank = 0;
    library.comm_rank(communicator, &rank);
    library.graph_neighbors_count(communicator, rank, &found.out);
    found.in = found.out;
  } else if (topology == MPI_DIST_GRAPH) {
    int is_weighted = 0;
    library.dist_graph_neighbors_count(communicator, &found.in, &found.out, &is_weighted);
  }
  return found;
}

}  // namespace

int out_degree(MPI_Comm communicator) { return degrees(communicator).out; }
int in_degree(MPI_Comm communicator) { return degrees(communicator).in; }

}  // namespace amount
}  // namespace commlens::profile
