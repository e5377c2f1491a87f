#include "agreement.hpp"

#include <atomic>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <new>

#include "preload/memory_kind.hpp"

namespace commlens::reroute {
namespace {

using preload::Memory;
using preload::memory_of;
using preload::MemoryKind;

constexpr std::uint64_t bit_of(Reason reason) { return std::uint64_t{1} << static_cast<unsigned>(reason); }
constexpr std::uint64_t is_large_somewhere = std::uint64_t{1} << 63U;
constexpr std::uint64_t waits_elsewhere = std::uint64_t{1} << 62U;

/// Why this rank's part of a call cannot be given to NCCL: one bit for each reason.
std::uint64_t refusals_of(const Side& side) {
  if (side.total() == 0) return 0;
  std::uint64_t refusals = side.is_dense() ? 0 : bit_of(Reason::gaps);
  const char* begin = side.span().begin;
  const auto [kind, device] = memory_of(begin);
  if (kind == MemoryKind::host || kind == MemoryKind::pinned) refusals |= bit_of(Reason::host_memory);
  if (kind == MemoryKind::device && !Device::is_primary(begin, device)) refusals |= bit_of(Reason::other_context);
  if (kind == MemoryKind::managed) refusals |= bit_of(Reason::managed_memory);
  return refusals;
}

/// The GPU on which the rank has its data, or has had it where it has none in this call; -1: unknown. The thread's
/// current one would be a guess: programs choose one when they first need it.
int device_of(const Operands& operands) {
  static std::atomic<int> last_known = -1;
  const Side& side = operands.send.total() != 0 ? operands.send : operands.receive;
  if (side.total() == 0) return last_known;
  const Memory memory = memory_of(side.span().begin);
  if (memory.kind == MemoryKind::device) last_known = memory.device;
  return memory.device;
}

/// Whether there is memory for the copy that the call always needs: once the ranks have agreed, they cannot go back.
bool has_memory_for_copy(const Arguments& arguments, const Operands& operands, int number) {
  if (!needs_other_memory(arguments, operands)) return true;
  Device* device = Device::of(number);
  if (device == nullptr) return true;  // which is found later
  const OnDevice current(*device);
  const void* memory = device->memory.take(operands.receive.total());
  device->memory.give_back(memory);
  return memory != nullptr || operands.receive.total() == 0;
}

/// Later calls of the signature may be other ones: where data is, and whether there is some, is no part of it.
bool may_change(Reason refused) {
  return refused == Reason::host_memory || refused == Reason::managed_memory || refused == Reason::gaps ||
         refused == Reason::other_context || refused == Reason::no_gpu || refused == Reason::no_memory;
}

/// The communicator of the thread's last call: MPI takes longer to look it up. Any deletion ends it.
struct Last {
  MPI_Comm communicator;
  CommunicatorState* state;
  std::uint64_t deletions;
};
constinit thread_local Last last __attribute__((tls_model("initial-exec"))) = {};
std::atomic<std::uint64_t> deletions = 1;

int delete_state(MPI_Comm /*communicator*/, int /*keyval*/, void* state, void* /*extra*/) {
  ++deletions;
  static_cast<CommunicatorState*>(state)->~CommunicatorState();
  std::free(state);
  return MPI_SUCCESS;
}

/// A new communicator agrees anew.
int copy_nothing(MPI_Comm /*communicator*/, int /*keyval*/, void* /*extra*/, void* /*value*/, void* /*copy*/,
                 int* is_copied) {
  *is_copied = 0;
  return MPI_SUCCESS;
}

int keyval() {
  static std::atomic_flag lock = ATOMIC_FLAG_INIT;
  static std::atomic<int> made = MPI_KEYVAL_INVALID;
  if (made.load(std::memory_order_acquire) == MPI_KEYVAL_INVALID) {
    const ScopedLock locked(lock);
    int number = MPI_KEYVAL_INVALID;
    if (made == MPI_KEYVAL_INVALID) {
      reroute.mpi.comm_create_keyval(copy_nothing, delete_state, &number, nullptr);
      made = number;
    }
  }
  return made;
}

/// Whether it has processes that another program has started, which may run without this library.
bool has_other_processes(MPI_Comm communicator) {
  MPI_Group group{};
  MPI_Group world{};
  MPI_Group common{};
  reroute.mpi.comm_group(communicator, &group);
  reroute.mpi.comm_group(reroute.mpi.world, &world);
  reroute.mpi.group_intersection(group, world, &common);
  int processes = 0;
  int of_the_world = 0;
  reroute.mpi.group_size(group, &processes);
  reroute.mpi.group_size(common, &of_the_world);
  for (MPI_Group* each : {&group, &world, &common}) reroute.mpi.group_free(each);
  return of_the_world != processes;
}

}  // namespace

bool have_same_settings() {
  const Settings& settings = reroute.settings;
  std::uint64_t flags = 0;
  const auto add = [&flags](bool flag) { flags = 2 * flags + (flag ? 1 : 0); };
  for (const bool is_chosen : settings.chosen) add(is_chosen);
  add(settings.folder != nullptr);
  add(settings.to_staged);
  add(settings.verify);
  add(settings.dry_run);
  static_assert(std::size(Settings{}.chosen) + 4 <= 64);
  // Two ranks that differ in a bit set it in the first sum and in the second one.
  const std::uint64_t own[] = {flags, ~flags, settings.min_bytes, ~settings.min_bytes};
  std::uint64_t all[std::size(own)] = {};
  const int error = reroute.mpi.allreduce(own, all, static_cast<int>(std::size(own)), reroute.mpi.uint64,
                                          reroute.mpi.bit_or, reroute.mpi.world);
  return error == MPI_SUCCESS && (all[0] & all[1]) == 0 && (all[2] & all[3]) == 0;
}

Reason sign(const Arguments& arguments, std::uint64_t bytes, Signature& signature) {
  const Function base = base_of(arguments.function);
  if (is_reduction(base)) {
    signature.reduction = reduction_of(arguments.op);
    signature.type = ccl_type_of(arguments.datatype);
  }
  const bool is_exchange = base == Function::alltoall || base == Function::alltoallv;
  signature.has_size = base != Function::alltoallv;
  const auto magnitude = static_cast<std::uint64_t>(signature.has_size ? std::bit_width(bytes) : 0);
  const auto root = static_cast<std::uint64_t>(has_root(base) ? arguments.root : 0);
  signature.key = 1 + static_cast<std::uint64_t>(base) + (static_cast<std::uint64_t>(signature.type) << 8U) +
                  (static_cast<std::uint64_t>(signature.reduction) << 12U) + (magnitude << 16U) + (root << 32U);
  if (is_reduction(base) && signature.reduction == Reduction::none) return Reason::operation;
  if (is_reduction(base) && signature.type == CclType::none) return Reason::type;
  return is_exchange && is_in_place(arguments.sendbuf) ? Reason::in_place : Reason::none;
}

CommunicatorState::CommunicatorState(MPI_Comm communicator) {
  int is_inter = 0;
  reroute.mpi.comm_test_inter(communicator, &is_inter);
  reroute.mpi.comm_rank(communicator, &rank_);
  reroute.mpi.comm_size(communicator, &ranks_);
  if (is_inter != 0) {
    refused_ = Reason::inter_communicator;
  } else if (has_other_processes(communicator)) {
    refused_ = Reason::other_processes;
  }
}

CommunicatorState::~CommunicatorState() {
  if (ccl_ != nullptr) ccl_->release();
  for (std::size_t index = 0; index < capacity_; ++index) std::free(agreements_[index]);
  std::free(static_cast<void*>(agreements_));
}

CommunicatorState* CommunicatorState::of(MPI_Comm communicator) {
  const std::uint64_t now = deletions.load(std::memory_order_relaxed);
  if (last.communicator == communicator && last.deletions == now) return last.state;
  void* known = nullptr;
  int is_set = 0;
  if (reroute.mpi.comm_get_attr(communicator, keyval(), static_cast<void*>(&known), &is_set) != MPI_SUCCESS)
    return nullptr;
  CommunicatorState* state = is_set != 0 ? static_cast<CommunicatorState*>(known) : make(communicator);
  if (state != nullptr) last = {communicator, state, now};
  return state;
}

CommunicatorState* CommunicatorState::make(MPI_Comm communicator) {
  static std::atomic_flag lock = ATOMIC_FLAG_INIT;
  const ScopedLock locked(lock);
  void* known = nullptr;
  int is_set = 0;
  reroute.mpi.comm_get_attr(communicator, keyval(), static_cast<void*>(&known), &is_set);
  if (is_set != 0) return static_cast<CommunicatorState*>(known);  // another thread came first
  void* memory = std::malloc(sizeof(CommunicatorState));
  if (memory == nullptr) std::abort();
  auto* state = new (memory) CommunicatorState(communicator);
  if (reroute.mpi.comm_set_attr(communicator, keyval(), state) == MPI_SUCCESS) return state;
  std::free(memory);
  return nullptr;
}

Agreement** CommunicatorState::slot_of(std::uint64_t key) {
  std::size_t slot = key * 0x9E3779B97F4A7C15U;
  const auto at = [this](std::size_t place) { return &agreements_[place & (capacity_ - 1)]; };
  while (*at(slot) != nullptr && (*at(slot))->key != key) ++slot;
  return at(slot);
}

void CommunicatorState::grow() {
  const std::size_t before = capacity_;
  Agreement** old = agreements_;
  capacity_ = capacity_ == 0 ? 8 : 2 * capacity_;
  agreements_ = static_cast<Agreement**>(std::calloc(capacity_, sizeof(Agreement*)));
  if (agreements_ == nullptr) std::abort();
  for (std::size_t index = 0; index < before; ++index) {
    if (old[index] != nullptr) *slot_of(old[index]->key) = old[index];
  }
  std::free(static_cast<void*>(old));
}

Agreement* CommunicatorState::find(std::uint64_t key) {
  const ScopedLock lock(lock_);
  return capacity_ == 0 ? nullptr : *slot_of(key);
}

Agreement* CommunicatorState::add(const Agreement& agreement) {
  const ScopedLock lock(lock_);
  if (2 * used_ >= capacity_) grow();
  Agreement** slot = slot_of(agreement.key);
  if (*slot != nullptr) return *slot;  // another thread came first
  void* memory = std::malloc(sizeof(Agreement));
  if (memory == nullptr) std::abort();
  ++used_;
  return *slot = new (memory) Agreement(agreement);
}

Reason CommunicatorState::refusal(const Signature& signature, const Arguments& arguments) {
  const Operands operands = operands_of(arguments, rank_, ranks_);
  std::uint64_t own = preload::find_driver() ? 0 : bit_of(Reason::host_memory);
  own |= refusals_of(operands.send) | refusals_of(operands.receive);
  const int device = device_of(operands);
  if (own == 0 && device < 0) own = bit_of(Reason::no_gpu);
  if (own == 0 && !has_memory_for_copy(arguments, operands, device)) own = bit_of(Reason::no_memory);
  if (own == 0 && !open_ccl()) own = bit_of(Reason::no_library);
  if (operands.send.total() >= reroute.settings.min_bytes) own |= is_large_somewhere;
  if (reroute.has_foreign_waits) own |= waits_elsewhere;
  std::uint64_t all = 0;
  if (reroute.mpi.allreduce(&own, &all, 1, reroute.mpi.uint64, reroute.mpi.bit_or, arguments.comm) != MPI_SUCCESS) {
    return Reason::not_agreed;  // MPI's own call will say why
  }
  has_foreign_waits_ = (all & waits_elsewhere) != 0;
  all &= ~waits_elsewhere;
  if (!signature.has_size && (all & is_large_somewhere) == 0) return Reason::small;
  all &= ~is_large_somewhere;
  if (all != 0) return static_cast<Reason>(std::countr_zero(all));
  if (reroute.settings.dry_run || ccl_ != nullptr || no_ccl_ != Reason::none) return no_ccl_;
  const CclCommunicator::Made made = CclCommunicator::make(arguments.comm, Device::of(device));
  ccl_ = made.communicator;
  no_ccl_ = made.refused;
  return no_ccl_;
}

bool CommunicatorState::has_agreed(Agreement* agreement, const Signature& signature) {
  if (agreement == nullptr) return false;
  const bool is_small = !signature.has_size && agreement->refused == Reason::small;
  if (!is_small && !may_change(agreement->refused)) return true;
  return !std::has_single_bit(++agreement->calls);
}

Agreement* CommunicatorState::agree(const Signature& signature, const Arguments& arguments) {
  const Reason refused = refusal(signature, arguments);
  Agreement* before = find(signature.key);
  if (before == nullptr) return add({signature.key, refused, 1, false, 0, 0});
  before->refused = refused;
  return before;
}

}  // namespace commlens::reroute
