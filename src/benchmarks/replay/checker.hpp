// Validates a replay: fills what is sent, and compares what is received.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "benchmarks/replay/blocks.hpp"
#include "benchmarks/replay/communicators.hpp"
#include "benchmarks/replay/contents.hpp"
#include "benchmarks/replay/function.hpp"
#include "benchmarks/replay/message_order.hpp"
#include "benchmarks/replay/observer.hpp"
#include "benchmarks/replay/program.hpp"
#include "benchmarks/replay/reductions.hpp"
#include "benchmarks/replay/trace.hpp"
#include "device/device.hpp"

namespace commlens::replay {

class Checker final : public Observer {
 public:
  Checker(const Trace& trace, device::Stream& stream, const Program& program);

  [[nodiscard]] bool needs_bytes() const override { return true; }
  void overwritten() override { is_overwritten_ = true; }
  /// What is sent is filled, what is received is cleared. Complete when it returns.
  Ticket begin(const Arguments& call, CommunicatorEntry& communicator, const Shape& shape, const Need& bytes) override;
  void begin_again(const Arguments& call, CommunicatorEntry& communicator, Ticket& ticket, const Need& bytes) override;
  Ticket matched(const Arguments& call, const CommunicatorEntry& communicator, const Shape& shape,
                 const MPI_Status& status) override;
  /// Clears the place.
  void begin_receive(const Arguments& call, const Need& bytes) override;
  void end(const Arguments& call, const Ticket& ticket, const MPI_Status& status) override;

  [[nodiscard]] bool is_overwritten() const { return is_overwritten_; }
  /// After the last call. `any_overwritten`: on some rank. Then messages with other bytes than awaited are unchecked.
  void finish(bool any_overwritten);
  /// The first that was wrong; empty: all is right.
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }          ///< that were compared
  [[nodiscard]] std::size_t unchecked() const { return unchecked_; }  ///< calls whose results are not known

 private:
  void fill(const Arguments& call, CommunicatorEntry& communicator, Ticket& ticket, const Need& bytes);
  void fill_message(const Arguments& call, const CommunicatorEntry& communicator, const Ticket& ticket);
  void expect_message(const Arguments& call, const CommunicatorEntry& communicator, Ticket& ticket);
  void fill_collective(const Arguments& call, Ticket& ticket);
  void fill_reduction(const Arguments& call, Ticket& ticket);
  void end_message(const Arguments& call, const Ticket& ticket, const MPI_Status& status);
  void end_collective(const Arguments& call, const Ticket& ticket);
  void end_reduction(const Arguments& call, const Ticket& ticket);
  void compare(const Arguments& call, const std::string& of, const Block& block, std::uint64_t seed);
  void note(const Arguments& call, const std::string& of, const std::string& problem);
  [[nodiscard]] Block block(const Side& side, std::int64_t number) const {
    return block_of(side, number, trace_.types);
  }
  [[nodiscard]] std::optional<ExactReduction> exact(const Arguments& call) const;

  const Trace& trace_;
  device::Stream& stream_;
  bool cancels_;  ///< it is not known which message a receive gets after one that was cancelled
  MessageOrder order_;
  std::string error_;
  std::string message_error_;   ///< the first in the bytes of a message
  std::size_t mismatches_ = 0;  ///< messages with such bytes
  bool is_overwritten_ = false;
  std::size_t bytes_ = 0;
  std::size_t unchecked_ = 0;
};

}  // namespace commlens::replay
