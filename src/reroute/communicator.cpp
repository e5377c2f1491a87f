#include "communicator.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "reroute.hpp"

namespace commlens::reroute {

constinit CclCommunicator CclCommunicator::all_[max_communicators] = {};
constinit std::atomic_flag CclCommunicator::all_lock_ = ATOMIC_FLAG_INIT;

/// What the ranks tell each other before they use or make one.
struct CclCommunicator::Facts {
  std::uint64_t refused;  // a Reason
  std::uint64_t gpu;
  std::uint64_t free_id;  // of one that could be used; 0: none
  std::uint64_t new_id;   // that the first rank would give
};

namespace {

constexpr int note_tag = 1;
constexpr std::uint64_t polls_per_look = 256;  // at NCCL's errors

/// ncclCommInitRank waits for the other ranks, of which one may have failed: a thread waits in it.
struct Initialization {
  Device* device;
  CclId id;
  int rank;
  int ranks;
  CclHandle handle = nullptr;
  Stream stream = nullptr;
  std::atomic<int> state = 0;  // 1: succeeded, 2: failed, 3: nobody waits for it any more

  void run() {
    const OnDevice current(*device);
    const bool is_made = ccl.init_rank(&handle, ranks, id, rank) == 0;
    if (is_made) stream = Device::make_stream();
    int expected = 0;
    if (!state.compare_exchange_strong(expected, stream != nullptr ? 1 : 2)) std::free(this);
  }
};

void* run_initialization(void* initialization) {
  static_cast<Initialization*>(initialization)->run();
  return nullptr;
}

void let_mpi_progress(MPI_Comm communicator) {
  int is_there = 0;
  reroute.mpi.iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator, &is_there, MPI_STATUS_IGNORE);
}

}  // namespace

void CclCommunicator::tell_others() const {
  static const char note = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_) continue;
    MPI_Request request;
    if (reroute.mpi.isend(&note, 1, reroute.mpi.byte, rank, note_tag, own_, &request) == MPI_SUCCESS) {
      reroute.mpi.request_free(&request);
    }
  }
}

bool CclCommunicator::is_told() const {
  int is_there = 0;
  reroute.mpi.iprobe(MPI_ANY_SOURCE, note_tag, own_, &is_there, MPI_STATUS_IGNORE);
  return is_there != 0;
}

void CclCommunicator::stop() {
  if (has_failed_.exchange(true)) return;
  ccl.abort(handle_);
}

void CclCommunicator::fail() {
  if (has_failed_) return;
  tell_others();
  stop();
}

void CclCommunicator::poll() {
  let_mpi_progress(reroute.mpi.world);
  if (is_told()) return stop();
  if (++polls_ % polls_per_look != 0) return;
  int error = 0;
  constexpr int in_progress = 7;
  if (ccl.get_async_error(handle_, &error) != 0 || (error != 0 && error != in_progress)) fail();
}

void CclCommunicator::wait_for_ranks() const { reroute.mpi.barrier(own_); }

bool CclCommunicator::exchange_bytes(char* bytes, Event event) {
  const ScopedLock lock(lock_);
  int error = ccl.group_start();
  for (int peer = 0; peer < ranks_ && error == 0; ++peer) {
    if (peer == rank_) continue;
    error = ccl.send(bytes + rank_, 1, ccl_bytes, peer, handle_, stream_);
    if (error == 0) error = ccl.recv(bytes + peer, 1, ccl_bytes, peer, handle_, stream_);
  }
  return ccl.group_end() == 0 && error == 0 && Device::record(event, stream_);
}

void CclCommunicator::connect_peers() {
  if (are_peers_connected_ || has_failed_) return;
  are_peers_connected_ = true;
  const OnDevice current(*device_);
  void* bytes = device_->memory.take(static_cast<std::size_t>(ranks_));
  const Event event = device_->take_event();
  bool is_good = bytes != nullptr && event != nullptr && exchange_bytes(static_cast<char*>(bytes), event);
  while (is_good && !has_failed_) {
    const Device::State state = Device::state_of(event);
    if (state == Device::State::done) break;
    is_good = state == Device::State::running;
    poll();
  }
  if (!is_good) fail();
  if (has_failed_) return;  // what still runs could use them
  device_->memory.give_back(bytes);
  device_->give_back(event);
}

CclCommunicator* CclCommunicator::find_free(MPI_Comm communicator) {
  for (CclCommunicator& each : all_) {
    if (each.id_ == no_id || each.id_ == reserved_id || each.is_used_ || each.has_failed_) continue;
    int comparison = MPI_UNEQUAL;
    reroute.mpi.comm_compare(communicator, each.own_, &comparison);
    if (comparison == MPI_CONGRUENT) return &each;
  }
  return nullptr;
}

CclCommunicator* CclCommunicator::find(std::uint64_t id) {
  for (CclCommunicator& each : all_) {
    if (each.id_ == id) return &each;
  }
  return nullptr;
}

Reason CclCommunicator::refusal_of(const Facts* facts, int ranks) {
  auto refused = static_cast<std::uint64_t>(Reason::none);
  for (int rank = 0; rank < ranks; ++rank) {
    refused = std::min(refused, facts[rank].refused);
    for (int other = 0; other < rank; ++other) {
      if (facts[other].gpu == facts[rank].gpu) return Reason::shared_gpu;
    }
  }
  return static_cast<Reason>(refused);
}

bool CclCommunicator::initialize(const CclId& id) {
  // Not freed before the thread has ended, which may be never: where another rank has failed.
  auto* made = static_cast<Initialization*>(std::calloc(1, sizeof(Initialization)));
  if (made == nullptr) return false;
  made->device = device_;
  made->id = id;
  made->rank = rank_;
  made->ranks = ranks_;
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, run_initialization, made) != 0) {
    std::free(made);
    return false;
  }
  pthread_detach(thread);
  while (made->state == 0 && !is_told()) {
    let_mpi_progress(reroute.mpi.world);
    sched_yield();
  }
  int expected = 0;
  if (made->state.compare_exchange_strong(expected, 3)) return false;
  handle_ = made->handle;
  stream_ = made->stream;
  const bool is_made = made->state == 1;
  std::free(made);
  return is_made;
}

/// Makes the communicator of NCCL. The same answer on all ranks.
bool CclCommunicator::start(MPI_Comm communicator) {
  MPI_Group group{};
  reroute.mpi.comm_group(communicator, &group);
  const bool has_own = reroute.mpi.comm_create(communicator, group, &own_) == MPI_SUCCESS;
  reroute.mpi.group_free(&group);
  if (!has_own) return false;
  reroute.mpi.comm_set_errhandler(own_, reroute.mpi.errors_return);
  struct {
    CclId id;
    int error;
  } first{};
  if (rank_ == 0) first.error = ccl.get_unique_id(&first.id);
  reroute.mpi.bcast(&first, sizeof first, reroute.mpi.byte, 0, own_);
  if (first.error != 0) {
    reroute.mpi.comm_free(&own_);
    return false;
  }
  const bool is_made = initialize(first.id);
  if (!is_made && !is_told()) tell_others();
  std::uint64_t failures = is_made ? 0 : 1;
  std::uint64_t all_failures = 0;
  reroute.mpi.allreduce(&failures, &all_failures, 1, reroute.mpi.uint64, reroute.mpi.bit_or, own_);
  if (all_failures != 0) reroute.mpi.comm_free(&own_);
  return all_failures == 0;
}

/// Takes a free communicator of the same ranks, if there is one, and room for a new one, if there is some.
CclCommunicator::Choice CclCommunicator::choose(MPI_Comm communicator) {
  const ScopedLock lock(all_lock_);
  Choice choice{find_free(communicator), find(no_id)};
  if (choice.free != nullptr) choice.free->is_used_ = true;
  if (choice.room != nullptr) choice.room->id_ = reserved_id;
  return choice;
}

CclCommunicator* CclCommunicator::make_in(CclCommunicator& room, MPI_Comm communicator, Device* device,
                                          std::uint64_t id) {
  reroute.mpi.comm_rank(communicator, &room.rank_);
  reroute.mpi.comm_size(communicator, &room.ranks_);
  room.device_ = device;
  if (!room.start(communicator)) return nullptr;
  room.is_used_ = true;
  room.id_ = id;
  return &room;
}

CclCommunicator::Made CclCommunicator::make(MPI_Comm communicator, Device* device) {
  static std::atomic<std::uint64_t> last_id = 0;
  const Choice choice = choose(communicator);
  Facts own{static_cast<std::uint64_t>(Reason::none), 0, 0, 0};
  if (device == nullptr) {
    own.refused = static_cast<std::uint64_t>(Reason::not_initialized);
  } else if (choice.room == nullptr) {
    own.refused = static_cast<std::uint64_t>(Reason::too_many);
  }
  own.gpu = device != nullptr ? device->identity() : 0;
  own.free_id = choice.free != nullptr ? choice.free->id_.load() : no_id;
  own.new_id = (static_cast<std::uint64_t>(reroute.rank) << 32U) + ++last_id;
  int ranks = 0;
  reroute.mpi.comm_size(communicator, &ranks);
  auto* facts = static_cast<Facts*>(std::calloc(static_cast<std::size_t>(ranks), sizeof(Facts)));
  if (facts == nullptr) std::abort();
  reroute.mpi.allgather(&own, sizeof own, reroute.mpi.byte, facts, sizeof own, reroute.mpi.byte, communicator);
  const bool is_free_on_all = own.free_id != no_id && std::all_of(facts, facts + ranks, [&](const Facts& other) {
                                return other.free_id == own.free_id;
                              });
  const Reason refused = refusal_of(facts, ranks);
  const std::uint64_t new_id = facts[0].new_id;
  std::free(facts);
  Made made{nullptr, refused};
  if (is_free_on_all) {
    made = {choice.free, Reason::none};
  } else if (refused == Reason::none) {
    CclCommunicator* started = make_in(*choice.room, communicator, device, new_id);
    made = {started, started != nullptr ? Reason::none : Reason::not_initialized};
  }
  if (choice.free != nullptr && made.communicator != choice.free) choice.free->release();
  if (choice.room != nullptr && made.communicator != choice.room) choice.room->id_ = no_id;
  return made;
}

}  // namespace commlens::reroute
