// The way of a call: by MPI, through NCCL, or through pinned memory.
#include <execinfo.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include "copies.hpp"
#include "operation.hpp"
#include "preload/memory_kind.hpp"
#include "requests.hpp"
#include "reroute.hpp"

namespace commlens::reroute {
namespace {

/// Whether the library has been called by what it has called itself.
bool is_called_from_itself() {
  void* callers[128];
  const int count = backtrace(callers, 128);
  bool has_left = false;
  for (int number = 0; number < count; ++number) {
    const bool is_own = is_in_library(callers[number]);
    if (is_own && has_left) return true;
    has_left = has_left || !is_own;
  }
  return false;
}

/// MPI may call its own functions, and its calls are not the program's. An error handler may have left a call by
/// longjmp or an exception, which ends nothing here: so an entry is believed only if the stack has it.
class Nesting {
 public:
  Nesting() { is_within_ = true; }
  ~Nesting() { is_within_ = is_inner_; }
  Nesting(Nesting&&) = delete;
  [[nodiscard]] bool is_inner() const { return is_inner_; }

 private:
  // A preloaded library can use the fast model of thread-local variables.
  static constinit thread_local bool is_within_ __attribute__((tls_model("initial-exec")));
  bool is_inner_ = is_within_ && is_called_from_itself();
};
constinit thread_local bool Nesting::is_within_ = false;

/// One call, with what is counted of it.
class Call {
 public:
  explicit Call(const Arguments& arguments)
      : arguments_(arguments), tally_(reroute.tally(arguments.function)), bytes_(bytes_of(arguments)) {
    adder_.add(tally_.calls, 1);
    adder_.add(tally_.bytes, sent_bytes_of(arguments, bytes_));
  }

  int run();

 private:
  [[nodiscard]] Reason refused_at_once() const;
  int by_ccl(CommunicatorState& state);
  Agreement* agree(CommunicatorState& state, const Signature& signature) const {
    const ScopedTime setup(reroute.setup_ticks, adder_);
    return state.agree(signature, arguments_);
  }
  int by_staging(CommunicatorState& state);
  int by_mpi(Reason refused);
  int measure(Agreement& agreement);
  int pretend();
  int rerouted(const Operands& operands, const Signature& signature, Device& device, CclCommunicator* communicator,
               const Agreement* agreement);
  int start(const Operands& operands, const Signature& signature, Device& device, CclCommunicator* communicator);
  std::uint64_t timed_pass_on(int& error) const {
    const std::uint64_t start = reroute.clock.ticks();
    error = pass_on(arguments_);
    return reroute.clock.ticks() - start;
  }
  [[nodiscard]] std::uint64_t estimate(const Agreement& agreement) const {
    if (agreement.bytes == 0) return agreement.ticks;
    const double share = static_cast<double>(bytes_) / static_cast<double>(agreement.bytes);
    return static_cast<std::uint64_t>(static_cast<double>(agreement.ticks) * share);
  }

  const Arguments& arguments_;
  Tally& tally_;
  Adder adder_ = reroute.adder();
  std::uint64_t bytes_;
  std::uint64_t verification_ticks_ = 0;
};

/// What tells, without asking anybody, that the call is MPI's on all ranks.
Reason Call::refused_at_once() const {
  const Function base = base_of(arguments_.function);
  if (!reroute.settings.chosen[static_cast<int>(arguments_.function)]) {
    return is_nonblocking(arguments_.function) ? Reason::not_named : Reason::not_chosen;
  }
  if (is_message(base) && !reroute.settings.to_staged) return Reason::message;
  if (arguments_.comm == reroute.mpi.null_communicator) return Reason::invalid;
  if (has_root(base) && arguments_.root < 0) return Reason::inter_communicator;
  const bool has_size = base != Function::alltoallv || reroute.settings.to_staged;
  return has_size && (bytes_ < reroute.settings.min_bytes || bytes_ == 0) ? Reason::small : Reason::none;
}

int Call::run() {
  const Reason refused = refused_at_once();
  if (refused != Reason::none) return by_mpi(refused);
  CommunicatorState* state = CommunicatorState::of(arguments_.comm);
  if (state == nullptr) return by_mpi(Reason::invalid);
  if (state->refused() != Reason::none) return by_mpi(state->refused());
  if (has_root(base_of(arguments_.function)) && arguments_.root >= state->ranks()) return by_mpi(Reason::invalid);
  return reroute.settings.to_staged ? by_staging(*state) : by_ccl(*state);
}

int Call::by_ccl(CommunicatorState& state) {
  Signature signature;
  const Reason refused = sign(arguments_, bytes_, signature);
  if (refused != Reason::none) return by_mpi(refused);
  Agreement* agreement = state.find(signature.key);
  if (agreement == nullptr && is_nonblocking(arguments_.function)) return by_mpi(Reason::not_agreed);
  if (!is_nonblocking(arguments_.function) && !CommunicatorState::has_agreed(agreement, signature)) {
    agreement = agree(state, signature);
    return agreement->refused != Reason::none ? by_mpi(agreement->refused) : measure(*agreement);
  }
  if (agreement->refused != Reason::none) return by_mpi(agreement->refused);
  if (reroute.settings.dry_run) return pretend();
  if (is_nonblocking(arguments_.function) && state.has_foreign_waits()) return by_mpi(Reason::foreign_waits);
  if (!agreement->is_connected) {
    if (is_nonblocking(arguments_.function)) return by_mpi(Reason::not_agreed);
    const ScopedTime setup(reroute.setup_ticks, adder_);
    state.ccl()->wait_for_ranks();  // NCCL may wait for them in its first call, and MPI makes no progress then
    if (base_of(arguments_.function) == Function::alltoallv) state.ccl()->connect_peers();
    agreement->is_connected = true;
  }
  const Operands operands = operands_of(arguments_, state.rank(), state.ranks());
  return rerouted(operands, signature, state.ccl()->device(), state.ccl(), agreement);
}

/// A rank can do this without the others: to them it is a call of MPI.
int Call::by_staging(CommunicatorState& state) {
  const Operands operands = operands_of(arguments_, state.rank(), state.ranks());
  const preload::Memory send = preload::memory_of(operands.send.span().begin);
  const preload::Memory receive = preload::memory_of(operands.receive.span().begin);
  const bool sends = send.kind == preload::MemoryKind::device;
  const bool receives = receive.kind == preload::MemoryKind::device;
  if (!sends && !receives) return by_mpi(Reason::host_memory);
  const bool is_primary = (!sends || Device::is_primary(operands.send.span().begin, send.device)) &&
                          (!receives || Device::is_primary(operands.receive.span().begin, receive.device));
  if (!is_primary) return by_mpi(Reason::other_context);
  if (!operands.send.is_dense() || !operands.receive.is_dense()) return by_mpi(Reason::gaps);
  Signature signature;
  sign(arguments_, bytes_, signature);
  Agreement* known = state.find(signature.key);
  if (known == nullptr && !is_nonblocking(arguments_.function)) {
    Agreement measured{signature.key, Reason::none, 1, true, 0, 0};
    const int error = measure(measured);
    state.add(measured);
    return error;
  }
  if (is_nonblocking(arguments_.function) && reroute.has_foreign_waits) return by_mpi(Reason::foreign_waits);
  if (reroute.settings.dry_run) return pretend();
  Device* device = Device::of(sends ? send.device : receive.device);
  if (device == nullptr) return by_mpi(Reason::host_memory);
  return rerouted(operands, signature, *device, nullptr, known);
}

int Call::by_mpi(Reason refused) {
  adder_.add(tally_.fell_back[static_cast<int>(refused)], 1);
  int error = MPI_SUCCESS;
  adder_.add(tally_.mpi_ticks, timed_pass_on(error));
  return error;
}

/// The first call of a signature tells how long MPI takes.
int Call::measure(Agreement& agreement) {
  adder_.add(tally_.measured_calls, 1);
  int error = MPI_SUCCESS;
  agreement.ticks = timed_pass_on(error);
  agreement.bytes = bytes_;
  adder_.add(tally_.mpi_ticks, agreement.ticks);
  return error;
}

/// --dry-run: counts what would have been rerouted.
int Call::pretend() {
  adder_.add(tally_.rerouted_calls, 1);
  adder_.add(tally_.rerouted_bytes, sent_bytes_of(arguments_, bytes_));
  int error = MPI_SUCCESS;
  adder_.add(tally_.estimate_ticks, timed_pass_on(error));
  return error;
}

int Call::start(const Operands& operands, const Signature& signature, Device& device, CclCommunicator* communicator) {
  void* memory = std::malloc(sizeof(Operation));
  if (memory == nullptr) std::abort();
  auto* operation = new (memory) Operation(arguments_, operands, signature, device, communicator);
  operation->begin();
  verification_ticks_ = operation->verification_ticks();
  return start_request(operation, arguments_.request);
}

int Call::rerouted(const Operands& operands, const Signature& signature, Device& device, CclCommunicator* communicator,
                   const Agreement* agreement) {
  const std::uint64_t begin = reroute.clock.ticks();
  int error = MPI_SUCCESS;
  // What a non-blocking call would have taken depends on what the program does meanwhile: nothing is said to be saved.
  bool is_known = agreement != nullptr && !is_nonblocking(arguments_.function);
  if (is_nonblocking(arguments_.function)) {
    error = start(operands, signature, device, communicator);
  } else {
    const OnDevice current(device);
    Operation operation(arguments_, operands, signature, device, communicator);
    operation.begin();
    while (!operation.is_done()) {
    }
    error = operation.finish();
    verification_ticks_ = operation.verification_ticks();
    is_known = is_known && !operation.has_copied();  // MPI was measured with other memory
  }
  const std::uint64_t ticks = reroute.clock.ticks() - begin - verification_ticks_;
  adder_.add(tally_.rerouted_calls, 1);
  adder_.add(tally_.rerouted_bytes, sent_bytes_of(arguments_, bytes_));
  adder_.add(tally_.rerouted_ticks, ticks);
  adder_.add(tally_.estimate_ticks, is_known ? estimate(*agreement) : ticks);
  return error;
}

/// Messages are not even counted where nobody has asked for them.
bool is_left_alone(Function function) {
  return is_message(function) && !reroute.settings.chosen[static_cast<int>(function)];
}

}  // namespace

int call(const Arguments& arguments) {
  const Nesting nesting;
  if (nesting.is_inner() || is_left_alone(arguments.function)) return pass_on(arguments);
  return Call(arguments).run();
}

}  // namespace commlens::reroute
