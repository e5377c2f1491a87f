// The calls of a trace that start, complete and free requests.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "benchmarks/replay/executor.hpp"

namespace commlens::replay {
namespace {

/// What a test of the program found complete is to be complete. By MPI's own functions, so that a profiler counts one
/// call, as in the program.
template <class Test>
int until_complete(int result, const int& is_complete, const Test& test) {
  while (result == MPI_SUCCESS && is_complete == 0) result = test();
  return result;
}

}  // namespace

Executor::Slot* Executor::slot(std::int64_t number) {
  return number < 0 ? nullptr : &slots_[static_cast<std::size_t>(number)];
}

/// By a new request. Waiting for one that the program has freed could last forever: its message may be received after
/// that of the new one.
void Executor::use_again(Slot* slot) {
  if (slot == nullptr || slot->freed == MPI_REQUEST_NULL) return;
  int is_complete = 0;
  CALL_MPI(PMPI_Test, &slot->freed, &is_complete, MPI_STATUS_IGNORE);
  if (slot->freed != MPI_REQUEST_NULL) CALL_MPI(PMPI_Request_free, &slot->freed);
  if (is_complete == 0 && observer_ != nullptr) observer_->overwritten();
}

/// MPI libraries differ in where they make no request, such as for a message to nobody.
void Executor::remember(Arguments& call, MPI_Request handle, const Shape& shape, Ticket ticket) {
  Slot* const made = slot(call.request);
  if (made == nullptr) {
    if (handle == MPI_REQUEST_NULL) return;
    MPI_Status status{};
    CALL_MPI(PMPI_Wait, &handle, &status);
    return copy_in(call, shape, status);
  }
  if (made->handle != MPI_REQUEST_NULL) {
    throw Error(fmt::format("{} uses a request that is not complete", call.function->name));
  }
  const bool is_persistent = call.function->mode == Mode::persistent;
  *made = {.handle = handle,
           .call = &call,
           .is_persistent = is_persistent,
           .is_active = !is_persistent,
           .shape = shape,
           .ticket = ticket,
           .freed = made->freed};
}

void Executor::completed(Slot& slot, const MPI_Status& status) {
  if (!slot.is_active) return;
  slot.is_active = false;
  copy_in(*slot.call, slot.shape, status);
  if (observer_ != nullptr) observer_->end(*slot.call, slot.ticket, status);
}

bool Executor::is_named(const Arguments& call, std::size_t index) {
  const auto number = static_cast<std::int64_t>(index);
  return call.index == number || std::find(call.indices.begin(), call.indices.end(), number) != call.indices.end();
}

/// Of the requests that the call completes, those of assign(): where communicators are made, and no other is active.
void Executor::finish_communicators(const Arguments& call) {
  if (found_nothing(call)) return;
  const auto finish = [&](std::int64_t number) {
    Slot* const own = slot(number);
    if (own == nullptr || own->handle == MPI_REQUEST_NULL) return;
    CALL_MPI(PMPI_Wait, &own->handle, MPI_STATUS_IGNORE);
    own->is_active = false;
  };
  finish(call.request);
  for (std::size_t index = 0; index < call.requests.size(); ++index) {
    if (!completes_some(call) || is_named(call, index)) finish(call.requests[index]);
  }
}

void Executor::gather(const Arguments& call, bool masked) {
  requests_.clear();
  for (std::size_t index = 0; index < call.requests.size(); ++index) {
    const Slot* const own = slot(call.requests[index]);
    const bool takes_part = own != nullptr && (!masked || is_named(call, index));
    requests_.push_back(takes_part ? own->handle : MPI_REQUEST_NULL);
  }
  statuses_.resize(requests_.size());
  indices_.resize(requests_.size());
}

void Executor::scatter(const Arguments& call, std::size_t index) {
  if (Slot* const own = slot(call.requests[index])) own->handle = requests_[index];
}

void Executor::perform_on_requests(Arguments& call, std::uint64_t calls) {
  switch (call.function->pattern) {
    case Pattern::start:
    case Pattern::startall:
      return start(call);
    case Pattern::wait:
      return wait(call);
    case Pattern::test:
      return test(call, calls);
    case Pattern::waitall:
      return wait_all(call);
    case Pattern::testall:
      return test_all(call, calls);
    case Pattern::waitany:
    case Pattern::testany:
      return any(call, calls);
    case Pattern::waitsome:
    case Pattern::testsome:
      return some(call, calls);
    case Pattern::request_free:
      return free_request(call);
    default:
      return cancel(call);
  }
}

void Executor::start(const Arguments& call) {
  const bool is_one = call.function->pattern == Pattern::start;
  const auto numbers = is_one ? std::span(&call.request, 1) : std::span(call.requests);
  requests_.clear();
  for (const std::int64_t number : numbers) {
    Slot* const own = slot(number);
    if (own == nullptr || !own->is_persistent || own->handle == MPI_REQUEST_NULL) {
      throw Error(fmt::format("{} of a request that is not persistent", call.function->name));
    }
    CommunicatorEntry& communicator = communicators_.at(own->call->communicator);
    const Shape& shape = Communicators::shape(communicator);
    if (observer_ != nullptr) {
      observer_->begin_again(*own->call, communicator, own->ticket, need(*own->call, trace_.types, shape));
    }
    totals_.bytes += static_cast<double>(counted_bytes(*own->call, trace_.types, shape));
    own->is_active = true;
    requests_.push_back(own->handle);
  }
  timed(call, [&] {
    for (const std::int64_t number : numbers) {
      Slot* const own = slot(number);
      copy_out(*own->call, Communicators::shape(communicators_.at(own->call->communicator)));
    }
    return is_one ? MPI_Start(requests_.data()) : MPI_Startall(static_cast<int>(requests_.size()), requests_.data());
  });
  for (std::size_t i = 0; !is_one && i < requests_.size(); ++i) scatter(call, i);
  if (is_one) slot(call.request)->handle = requests_.front();
}

void Executor::wait(const Arguments& call) {
  MPI_Request none = MPI_REQUEST_NULL;
  Slot* const own = slot(call.request);
  MPI_Status status{};
  timed(call, [&] { return MPI_Wait(own == nullptr ? &none : &own->handle, wanted(status)); });
  if (own != nullptr) completed(*own, status);
}

/// A test that completes earlier than in the program leaves no request: those after it return at once.
void Executor::test(const Arguments& call, std::uint64_t calls) {
  MPI_Request none = MPI_REQUEST_NULL;
  Slot* const own = slot(call.request);
  MPI_Request& request = own == nullptr ? none : own->handle;
  MPI_Status status{};
  MPI_Status* const kept = wanted(status);
  int is_complete = 0;
  for (std::uint64_t i = 0; i < calls; ++i) {
    timed(call, [&] {
      const int result = MPI_Test(&request, &is_complete, kept);
      return call.flag == 0
                 ? result
                 : until_complete(result, is_complete, [&] { return PMPI_Test(&request, &is_complete, kept); });
    });
    if (is_complete != 0 && own != nullptr) completed(*own, status);
  }
}

void Executor::wait_all(const Arguments& call) {
  gather(call, false);
  timed(call, [&] { return MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), wanted_statuses()); });
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    scatter(call, i);
    if (Slot* const own = slot(call.requests[i])) completed(*own, statuses_[i]);
  }
}

void Executor::test_all(const Arguments& call, std::uint64_t calls) {
  gather(call, false);
  const auto count = static_cast<int>(requests_.size());
  MPI_Status* const kept = wanted_statuses();
  int is_complete = 0;
  const auto complete = [&] {
    for (std::size_t i = 0; is_complete != 0 && i < requests_.size(); ++i) {
      scatter(call, i);
      if (Slot* const own = slot(call.requests[i])) completed(*own, statuses_[i]);
    }
  };
  for (std::uint64_t i = 0; i < calls; ++i) {
    timed(call, [&] {
      const int result = MPI_Testall(count, requests_.data(), &is_complete, kept);
      return call.flag == 0 ? result : until_complete(result, is_complete, [&] {
        return PMPI_Testall(count, requests_.data(), &is_complete, kept);
      });
    });
    complete();
  }
}

void Executor::any(const Arguments& call, std::uint64_t calls) {
  const bool waits = call.function->pattern == Pattern::waitany;
  gather(call, waits || call.index >= 0);
  const auto count = static_cast<int>(requests_.size());
  int index = MPI_UNDEFINED;
  int is_complete = 0;
  MPI_Status status{};
  MPI_Status* const kept = wanted(status);
  const auto complete = [&] {
    if (index == MPI_UNDEFINED || (!waits && is_complete == 0)) return;
    scatter(call, static_cast<std::size_t>(index));
    if (Slot* const own = slot(call.requests[static_cast<std::size_t>(index)])) completed(*own, status);
  };
  for (std::uint64_t i = 0; i < (waits ? 1 : calls); ++i) {
    timed(call, [&] {
      if (waits) return MPI_Waitany(count, requests_.data(), &index, kept);
      const int result = MPI_Testany(count, requests_.data(), &index, &is_complete, kept);
      return call.index < 0 ? result
                            : until_complete(
                                  result, is_complete,
                                  [&] { return PMPI_Testany(count, requests_.data(), &index, &is_complete, kept); });
    });
    complete();
  }
}

void Executor::some(const Arguments& call, std::uint64_t calls) {
  const bool waits = call.function->pattern == Pattern::waitsome;
  gather(call, waits || !call.indices.empty());
  const auto count = static_cast<int>(requests_.size());
  MPI_Status* const kept = wanted_statuses();
  int done = 0;
  std::size_t complete = 0;
  const auto complete_some = [&] {
    for (int i = 0; done != MPI_UNDEFINED && i < done; ++i) {
      const auto index = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
      scatter(call, index);
      if (Slot* const own = slot(call.requests[index])) completed(*own, statuses_[static_cast<std::size_t>(i)]);
      ++complete;
    }
  };
  for (std::uint64_t i = 0; i < (waits ? 1 : calls); ++i) {
    timed(call, [&] {
      int result = waits ? MPI_Waitsome(count, requests_.data(), &done, indices_.data(), kept)
                         : MPI_Testsome(count, requests_.data(), &done, indices_.data(), kept);
      complete_some();
      // Until as many are complete as in the program, or none is left that is not.
      while (result == MPI_SUCCESS && done != MPI_UNDEFINED && complete < call.indices.size()) {
        result = PMPI_Waitsome(count, requests_.data(), &done, indices_.data(), kept);
        complete_some();
      }
      return result;
    });
  }
}

void Executor::free_request(const Arguments& call) {
  Slot* const own = slot(call.request);
  if (own == nullptr || own->handle == MPI_REQUEST_NULL) return;  // it has completed before
  if (observer_ != nullptr && observer_->needs_bytes() && own->is_active) {
    own->freed = std::exchange(own->handle, MPI_REQUEST_NULL);
    own->is_active = false;
    return;
  }
  timed(call, [&] { return MPI_Request_free(&own->handle); });
  own->is_active = false;
}

void Executor::cancel(const Arguments& call) {
  Slot* const own = slot(call.request);
  if (own == nullptr || own->handle == MPI_REQUEST_NULL) return;
  timed(call, [&] { return MPI_Cancel(&own->handle); });
}

}  // namespace commlens::replay
