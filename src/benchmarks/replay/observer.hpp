// Is told of what a replay does, beside its samples: to validate it, or to keep a log of it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "benchmarks/replay/communicators.hpp"
#include "benchmarks/replay/function.hpp"
#include "benchmarks/replay/message_order.hpp"
#include "benchmarks/replay/program.hpp"

namespace commlens::replay {

/// A message that a probe has matched.
struct Probed {
  Channel from;
  std::optional<std::uint64_t> number;
};

/// What is known of a message or a collective, from when it begins to when it is complete.
struct Ticket {
  bool is_checked = false;  ///< once it is complete
  std::uint64_t id = 0;     ///< of the collective, or of the communicator
  PostedReceive receive;
  std::optional<Probed> probed;
  Shape shape;
  // In a log: the first of its operations, and how many there are.
  std::size_t operation = 0;
  std::size_t operations = 0;
};

class Observer {
 public:
  Observer() = default;
  Observer(Observer&&) = delete;
  virtual ~Observer() = default;

  /// Before and after each call. left() again: a staged result was copied back, and the call ends only now.
  virtual void entered(const Arguments& /*call*/) {}
  virtual void left() {}

  /// Whether it looks at the bytes of messages, and wants to be told by overwritten().
  [[nodiscard]] virtual bool needs_bytes() const { return false; }
  /// The program has freed a request, and the place of its message is used again before MPI has completed it.
  virtual void overwritten() {}

  /// Before a call that communicates, or makes a communicator or a persistent request.
  virtual Ticket begin(const Arguments& call, CommunicatorEntry& communicator, const Shape& shape,
                       const Need& bytes) = 0;
  /// Before each start of a persistent call.
  virtual void begin_again(const Arguments& call, CommunicatorEntry& communicator, Ticket& ticket,
                           const Need& bytes) = 0;
  /// A probe has found a message.
  virtual void probed(const Arguments& /*call*/, const CommunicatorEntry& /*communicator*/, const Shape& /*shape*/,
                      const MPI_Status& /*status*/) {}
  /// A probe has matched a message, which a later call receives.
  virtual Ticket matched(const Arguments& call, const CommunicatorEntry& communicator, const Shape& shape,
                         const MPI_Status& status) = 0;
  virtual void begin_receive(const Arguments& /*call*/, const Need& /*bytes*/) {}
  /// After a call or the completion of its request.
  virtual void end(const Arguments& call, const Ticket& ticket, const MPI_Status& status) = 0;
};

}  // namespace commlens::replay
