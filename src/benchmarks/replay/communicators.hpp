// The communicators of a replay, by the numbers of the trace.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "benchmarks/replay/function.hpp"
#include "benchmarks/replay/program.hpp"
#include "transport/communicator.hpp"

namespace commlens::replay {

struct CommunicatorEntry {
  MPI_Comm handle = MPI_COMM_NULL;
  std::optional<Shape> shape;     ///< asked for when it is first needed
  std::uint64_t id = 0;           ///< the same on all its ranks: what messages carry, where they are validated
  std::uint64_t made_from = 0;    ///< communicators that were made from it
  std::uint64_t collectives = 0;  ///< that were begun in it
  std::uint64_t order = 0;        ///< in which it was made
};

/// The two neighbors in each dimension of a Cartesian communicator; MPI_PROC_NULL beyond a border.
std::vector<int> neighbors_in_grid(MPI_Comm handle);

class Communicators {
 public:
  static constexpr std::uint64_t world_id = 1;
  static constexpr std::uint64_t self_id = 2;

  /// `count` numbers. The ranks of `world` are those of the trace.
  Communicators(const transport::Communicator& world, std::size_t count);
  Communicators(Communicators&&) = delete;
  ~Communicators();

  /// Collective: again as at the begin of the program. No message of before can be received.
  void reset();

  /// Throws Error where there is none.
  [[nodiscard]] CommunicatorEntry& at(std::int64_t number);
  [[nodiscard]] static const Shape& shape(CommunicatorEntry& entry);
  /// MPI_COMM_NULL for -1 and where there is none.
  [[nodiscard]] MPI_Comm handle(std::int64_t number) const;
  /// A place for a new communicator; throws Error where there is one.
  [[nodiscard]] CommunicatorEntry& place(std::int64_t number);
  /// After the call that makes it. With `agree`, ranks may have to agree on its id.
  void made(const Arguments& call, CommunicatorEntry& entry, bool agree);
  [[nodiscard]] MPI_Group group_of(const std::vector<int>& ranks) const;

 private:
  void free_all();
  [[nodiscard]] std::uint64_t id_of(const Arguments& call, const CommunicatorEntry& made, bool agree);

  const transport::Communicator& parent_;
  std::optional<transport::Communicator> world_;
  std::optional<transport::Communicator> self_;
  std::vector<CommunicatorEntry> entries_;
  /// Communicators that a group of ranks made with a tag, by the parent's id and both.
  std::map<std::tuple<std::uint64_t, int, std::vector<int>>, std::uint64_t> made_of_groups_;
  std::uint64_t order_ = 0;
};

}  // namespace commlens::replay
