#include "benchmarks/one_sided/one_sided.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace commlens::one_sided {

namespace {

WindowCreation creation_for(Run& run, const WindowedPairOptions& options, device::Memory memory) {
  const auto kinds = run.transport().windows(memory);
  if (kinds.empty()) {
    throw Unsupported(run.transport_name() + " has no one-sided operations: use --transport mpi or peer");
  }
  const WindowCreation wanted = options.creation.value_or(kinds.front());
  if (std::find(kinds.begin(), kinds.end(), wanted) != kinds.end()) return wanted;
  std::string others;
  for (const WindowCreation kind : kinds) others += (others.empty() ? "" : " or ") + std::string(name(kind));
  throw Unsupported("--window-creation " + std::string(name(wanted)) + ": " + run.transport_name() +
                    " has no such windows of " + std::string(name(memory)) + " memory; write " + others);
}

}  // namespace

WindowedPair::WindowedPair(Run& run, const WindowedPairOptions& options, const Operation& operation, Memory memory,
                           std::size_t messages)
    : run_(run),
      operation_(operation),
      memory_(std::move(memory)),
      partner_(options.partner_of(run.rank())),
      passive_(!is_active(options.synchronization)),
      messages_(messages),
      advance_(operation.fetches ? 1 : 0) {
  // Of all ranks, as the fact is rank 0's and a reason to skip must be that of all.
  const auto kinds = run.communicator().gather(std::string(name(run.memory())));
  auto memory_of_window = run.memory();
  for (const std::string& kind : kinds) {
    if (kind != name(device::Memory::host))
      memory_of_window = from_name<device::Memory>(kind).value_or(memory_of_window);
  }
  const WindowCreation creation = creation_for(run, options, memory_of_window);
  run.fact(window_creation, std::string(name(creation)));
  const int color = waits() || partner_.first ? run.rank() : partner_.rank;
  transport_ = run.transport().split(run.communicator().split(color));
  target_ = partner_.rank < run.rank() ? 0 : 1;
  // Pair by pair: Open MPI's osc/sm makes files of one name for those at the same time.
  for (int turn = 0; turn < run.ranks(); ++turn) {
    std::string problem;
    try {
      if (!waits() && turn == color) open(creation, options.synchronization);
    } catch (const Error& error) {
      problem = error.what();
    }
    problem = run.communicator().first(problem);
    if (!problem.empty()) throw Unsupported(run.transport_name() + " makes no such window for these ranks: " + problem);
  }
}

void WindowedPair::open(WindowCreation creation, Synchronization synchronization) {
  const std::size_t bytes = messages_ * memory_.bytes;
  const device::Buffer ours = creation == WindowCreation::allocate ? device::Buffer() : run_.buffer(bytes);
  window_ = transport_->window(creation, ours.data(), bytes);
  memory_.window = {window_->data(), bytes, run_.memory()};
  epochs_ =
      std::make_unique<Epochs>(*window_, synchronization, target_, operation_.exclusive, operation_.exclusive_epoch);
}

void WindowedPair::settle() {
  if (epochs_) epochs_->end();
  run_.barrier();
}

template <class Function>
void WindowedPair::with_own_part(Function function) {
  const int self = 1 - target_;
  if (passive_) window_->lock(self, true);
  function();
  run_.stream().wait();
  if (passive_) window_->unlock(self);
}

Seeds WindowedPair::seeds(std::size_t round) const {
  const auto of = [&](int rank) { return pattern::seed(memory_.bytes, round, static_cast<std::uint64_t>(rank)); };
  return {.mine = of(run_.rank()), .partners = of(partner_.rank)};
}

void WindowedPair::reset(std::size_t round) {
  settle();
  next_ = 0;
  if (!waits()) {
    with_own_part([&] { operation_.fill(run_.stream(), memory_, seeds(round)); });
  }
  run_.barrier();  // the partner's lock is of its own part until here
  if (!waits() && partner_.first) epochs_->begin();
}

Verdict WindowedPair::verify(std::size_t round, std::size_t operations, bool both) {
  settle();
  Verdict verdict;
  if (waits()) return verdict;
  with_own_part([&] {
    const auto check = [&](auto function, bool is_due) {
      if (function == nullptr || !is_due || !verdict.error.empty()) return;
      const Verdict found = function(run_.stream(), memory_, seeds(round), operations);
      verdict.elements += found.elements;
      verdict.error = found.error;
    };
    check(operation_.verify_origin, both || partner_.first);
    check(operation_.verify_target, both || !partner_.first);
  });
  return verdict;
}

CopyCeiling WindowedPair::ceiling(double messages, bool both) const {
  const bool leaves_here = operation_.verify_target == nullptr ? !partner_.first : partner_.first;
  return {.bytes = memory_.bytes,
          .copies = messages,
          .peer = waits() ? run_.rank() : partner_.rank,
          .takes_part = !waits() && (both || leaves_here)};
}

}  // namespace commlens::one_sided
