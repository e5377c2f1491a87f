// The collectives of a trace that a transport has in MPI's place, as in an application that calls NCCL for some of its
// collectives: those that block, within one group, of types without gaps, and that the transport supports.
//
// All ranks of a collective must decide alike. So they decide by what MPI wants to be equal on all of them: operation,
// bytes of a block, root, and the type of a reduction. Whether types have gaps may differ by rank: all ranks have the
// whole trace, and look at all calls that may belong together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "benchmarks/replay/communicators.hpp"
#include "benchmarks/replay/function.hpp"
#include "benchmarks/replay/program.hpp"
#include "benchmarks/replay/trace.hpp"
#include "harness/run.hpp"
#include "transport/transport.hpp"

namespace commlens::replay {

/// Why a collective stays with MPI.
enum class Stays {
  does_not_block,
  of_two_groups,
  of_neighbors,
  of_one_rank,
  of_sub_communicator,
  has_gaps,
  unsupported
};
ENUM_NAMES(Stays, {does_not_block, "non-blocking or persistent"}, {of_two_groups, "of intercommunicators"},
           {of_neighbors, "between neighbors"}, {of_one_rank, "of one rank"},
           {of_sub_communicator, "of a part of the ranks"}, {has_gaps, "of types with gaps"},
           {unsupported, "operations or types that it does not have"});

class TransportCollectives {
 public:
  /// The arguments that MPI requires to be equal on all ranks. Collectives with a count for each rank are made of
  /// messages: operation alltoallv, count 0.
  struct Agreed {
    transport::Operation operation = transport::Operation::barrier;
    std::size_t count = 0;
    DataType type = DataType::u8;
    transport::Reduction reduction = transport::Reduction::sum;
    int root = 0;

    auto operator<=>(const Agreed&) const = default;
  };

  /// Made once, and executed as often as the trace has it.
  struct Operation {
    Agreed agreed;
    std::unique_ptr<transport::Exchange> with_two_buffers;
    std::unique_ptr<transport::Exchange> in_place;  ///< nullptr: the input is copied first
  };

  TransportCollectives(Run& run, const Trace& trace);
  TransportCollectives(TransportCollectives&&) = delete;
  ~TransportCollectives();

  /// For each collective of the program in its order, with the places of its buffers: all ranks of the communicator
  /// make the operation.
  void assign(const Arguments& call, const CommunicatorEntry& communicator, const Shape& shape);
  /// Collective, after that: throws Unsupported where all collectives stay with MPI.
  void require_some() const;

  /// nullptr: MPI's.
  [[nodiscard]] const Operation* find(const Arguments& call, const CommunicatorEntry& communicator) const;
  /// Returns when it is complete.
  void run(const Arguments& call, const Shape& shape, const Operation& operation);

  /// Of the calls of collectives, and of the bytes that they send. Collective.
  [[nodiscard]] double share_of_calls() const;
  [[nodiscard]] double share_of_bytes() const;

 private:
  /// The ranks of a communicator, wherever the program makes it.
  struct Group {
    transport::Transport* transport = nullptr;  ///< nullptr: there is none for a part of the ranks
    std::map<Agreed, Operation> operations;
    std::map<const Arguments*, Operation> with_counts;
    std::map<const Arguments*, const Operation*> of_call;  ///< nullptr: MPI's
  };
  struct Amount {
    double calls = 0;
    double bytes = 0;
  };

  [[nodiscard]] std::optional<Stays> reason_to_stay(const Arguments& call, const CommunicatorEntry& communicator,
                                                    const Shape& shape);
  Group& group_of(const CommunicatorEntry& communicator);
  [[nodiscard]] const Operation* make(Group& group, const Arguments& call, const Shape& shape);
  [[nodiscard]] std::optional<Agreed> agreed(const Arguments& call, const Shape& shape) const;
  [[nodiscard]] std::optional<Agreed> agreed_reduction(const Arguments& call, const Shape& shape) const;
  [[nodiscard]] std::size_t block_bytes(const Arguments& call) const;
  [[nodiscard]] bool has_gaps(const Side& side) const;
  [[nodiscard]] std::unique_ptr<transport::Exchange> messages(transport::Transport& transport, const Arguments& call,
                                                              const Shape& shape) const;
  void progress_mpi() const;

  /// Calls of the program that may be the same collective, on different ranks: by function and bytes of a block.
  using Alike = std::pair<std::string_view, std::size_t>;
  [[nodiscard]] Alike alike(const Arguments& call) const;

  Run& run_;
  const Trace& trace_;
  std::set<Alike> with_gaps_;
  std::vector<std::unique_ptr<transport::Transport>> splits_;
  std::map<std::vector<int>, Group> groups_;  ///< by their ranks
  std::vector<Group*> by_order_;              ///< of communicators, in the order in which the program makes them
  Amount assigned_;
  Amount all_;
  std::array<double, names_of(Stays{}).size()> staying_{};  ///< calls
};

}  // namespace commlens::replay
