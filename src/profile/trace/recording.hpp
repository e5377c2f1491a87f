// One call for the trace: the generated wrappers give its arguments before the call, and what it has made after it.
// Arguments are values and arrays of handles in C, and addresses of integers in Fortran; the overloads here read both.
#pragma once

#include <cstddef>
#include <cstdint>

#include "amounts.hpp"
#include "trace/trace.hpp"

namespace commlens::profile {

class Recording {
 public:
  explicit Recording(int function) : is_on_(trace.is_on() && Call::can_query_mpi() && trace.records_this_thread()) {
    if (!is_on_) return;
    trace.requests.unmark_all();
    event_.function = static_cast<std::uint32_t>(function);
    event_.length = 0;
    event_.repeats = event_.is_waiting = false;
    trace.begin(event_.times, profile.clock.ticks());
  }

  [[nodiscard]] bool is_on() const { return is_on_; }

  void number(std::int64_t value) { event_.fields[event_.length++] = value; }
  void buffer(const void* address) { number(is_in_place(address) ? 1 : address == nullptr ? 2 : 0); }
  void rank(int value) {
    number(value == MPI_PROC_NULL ? -1 : value == MPI_ANY_SOURCE ? -2 : value == MPI_ROOT ? -3 : value);
  }
  void tag(int value) { number(value == MPI_ANY_TAG ? -1 : value); }
  /// Other types than that of shared memory are the library's own.
  void split_type(int value) { number(value == MPI_COMM_TYPE_SHARED ? 0 : -1); }
  void color(int value) { number(value == MPI_UNDEFINED ? -1 : value); }
  void communicator(MPI_Comm value) { number(trace.number_of(value)); }
  void type(MPI_Datatype value) { number(trace.number_of_type(value)); }
  void operation(std::uintptr_t value) { number(Trace::number_of_operation(value)); }
  void group(MPI_Group value) { number(trace.members(value)); }
  template <class Number>
  void numbers(const Number* values, int count);
  /// A type is looked up where its count is not 0.
  template <class Number, class Types>
  void types(Types types, const Number* counts, int count);
  /// A slot that the call uses, and frees if the request is null afterwards.
  template <class Handles>
  void request(Handles requests) {
    std::int64_t* slots = trace.slots.of(1);
    number(slots[0] = find(request_at(requests, 0)));
  }
  template <class Handles, class Number>
  void requests(Handles requests, Number count);
  void message(std::uintptr_t handle) { number(message_ = trace.messages.find(handle)); }

  // After the call. `field`: what had been given as 0.
  void made_communicator(int field, MPI_Comm value) { event_.fields[field] = trace.add(value); }
  void freed_communicator(int field) { trace.remove(event_.fields[field]); }
  /// Whether one of the requests waits for a message from anybody.
  [[nodiscard]] static bool is_any_waiting(int count);
  template <class Handles>
  void made_request(int field, Handles request);
  void made_message(int field, std::uintptr_t handle) { event_.fields[field] = trace.messages.take(handle); }
  void no_message(int field) { event_.fields[field] = -1; }
  void freed_message() const {
    if (message_ >= 0) trace.messages.release(message_);
  }
  template <class Handles>
  void freed_requests(Handles requests, int count);
  /// A receive from anybody, or of any tag: what the status says, if there is one.
  void received(int source_field, int tag_field, const void* status);
  /// The same of a receive whose message comes later.
  void will_receive(int source_field, int tag_field) {
    event_.is_waiting = event_.fields[source_field] == -2 || event_.fields[tag_field] == -1;
    event_.source_field = source_field;
    event_.tag_field = tag_field;
  }
  /// What the requests that wait for a message have received. `statuses`: an array, and null or MPI's constant for
  /// none.
  template <class Handles>
  void completed(Handles requests, int index, const void* statuses, int status_index);
  /// The numbers of the requests that are complete.
  template <class Number>
  void indices(const Number* values, int count, int first);
  void without_result() { event_.repeats = true; }
  void append(std::uint64_t end, std::uint64_t ticks) {
    trace.end(event_.times, end, ticks);
    trace.append(event_, made_slot_);
    trace.resume(profile.clock.ticks());
  }

 private:
  /// Of a request; each number once in a call.
  [[nodiscard]] static int find(std::uintptr_t handle) {
    const int slot = trace.requests.find(handle);
    if (slot >= 0) trace.requests.mark(slot);
    return slot;
  }

  bool is_on_;
  int message_ = -1;
  int made_slot_ = -1;
  Event event_;  // NOLINT(cppcoreguidelines-pro-type-member-init): most calls are not recorded
};

/// Whether there is a status: no constant of MPI that stands for none.
bool is_status(const void* status);

template <class Number>
void Recording::numbers(const Number* values, int count) {
  std::int64_t* copies = trace.numbers.of(static_cast<std::size_t>(count < 0 ? 0 : count) + 1);
  for (int index = 0; copies != nullptr && index < count; ++index)
    copies[index] = static_cast<std::int64_t>(values[index]);
  number(copies == nullptr ? -1 : trace.array(copies, static_cast<std::size_t>(count < 0 ? 0 : count)));
}

template <class Number, class Types>
void Recording::types(Types types, const Number* counts, int count) {
  std::int64_t* copies = trace.numbers.of(static_cast<std::size_t>(count) + 1);
  for (int index = 0; copies != nullptr && index < count; ++index) {
    copies[index] = counts[index] == 0 ? -1 : trace.number_of_type(datatype_at(types, index));
  }
  number(copies == nullptr ? -1 : trace.array(copies, static_cast<std::size_t>(count), 1));
}

template <class Handles, class Number>
void Recording::requests(Handles requests, Number count) {
  const auto length = static_cast<std::size_t>(count < 0 ? 0 : count);
  std::int64_t* slots = trace.slots.of(length + 1);
  for (std::size_t index = 0; slots != nullptr && index < length; ++index) {
    slots[index] = find(request_at(requests, static_cast<int>(index)));
  }
  number(slots == nullptr ? -1 : trace.array(slots, length));
}

template <class Handles>
void Recording::made_request(int field, Handles request) {
  const std::uintptr_t handle = request_at(request, 0);
  made_slot_ = handle == null_request_of(request) ? -1 : trace.requests.take(handle);
  event_.fields[field] = made_slot_;
}

template <class Handles>
void Recording::freed_requests(Handles requests, int count) {
  const std::int64_t* slots = trace.slots.of(static_cast<std::size_t>(count < 0 ? 0 : count) + 1);
  for (int index = 0; slots != nullptr && index < count; ++index) {
    if (slots[index] >= 0 && request_at(requests, index) == null_request_of(requests)) {
      trace.requests.release(static_cast<int>(slots[index]));
    }
  }
}

template <class Handles>
void Recording::completed(Handles /*requests*/, int index, const void* statuses, int status_index) {
  const std::int64_t slot = trace.slots.of(1)[index];
  if (slot < 0 || trace.requests.waiting_event(static_cast<int>(slot)) == 0 || !is_status(statuses)) return;
  const MPI_Status& status = static_cast<const MPI_Status*>(statuses)[status_index];
  trace.resolve(static_cast<int>(slot), status.MPI_SOURCE, status.MPI_TAG);
}

template <class Number>
void Recording::indices(const Number* values, int count, int first) {
  std::int64_t* copies = trace.numbers.of(static_cast<std::size_t>(count < 0 ? 0 : count) + 1);
  for (int index = 0; copies != nullptr && index < count; ++index) copies[index] = values[index] - first;
  number(copies == nullptr ? -1 : trace.array(copies, static_cast<std::size_t>(count < 0 ? 0 : count)));
}

}  // namespace commlens::profile
