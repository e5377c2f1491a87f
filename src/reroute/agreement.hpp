// What the ranks of a communicator have agreed on, kept as an attribute of it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "communicator.hpp"
#include "operands.hpp"
#include "reroute.hpp"

namespace commlens::reroute {

/// What all ranks know alike of a call: function, root, type, operation, and bytes within a factor of two.
/// In MPI_Alltoallv ranks have different sizes, and in calls that only copy, different types may stand for the same
/// data.
struct Signature {
  std::uint64_t key = 0;  // never 0
  CclType type = CclType::none;
  Reduction reduction = Reduction::none;
  bool has_size = true;
};

/// For calls of one signature.
struct Agreement {
  std::uint64_t key;  // 0: none
  Reason refused;
  std::uint64_t calls;  // since, where it may change
  bool is_connected;    // NCCL has made such a call
  std::uint64_t bytes;  // of the first call, which MPI made
  std::uint64_t ticks;  // that it took
};

class CommunicatorState {
 public:
  /// That of the communicator, made when it is first needed; null: MPI has none.
  static CommunicatorState* of(MPI_Comm communicator);
  ~CommunicatorState();
  CommunicatorState(CommunicatorState&&) = delete;

  /// Why none of its calls is rerouted, on any rank.
  [[nodiscard]] Reason refused() const { return refused_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  /// On any rank, once the ranks have agreed on something.
  [[nodiscard]] bool has_foreign_waits() const { return has_foreign_waits_; }
  [[nodiscard]] CclCommunicator* ccl() const { return ccl_; }

  /// Null: there has been no such call. The agreement stays where it is as long as the communicator exists.
  Agreement* find(std::uint64_t key);
  Agreement* add(const Agreement& agreement);
  /// Whether the ranks have agreed. Where they have refused for what later calls of the signature may not have, they
  /// do it again whenever the number of such calls has doubled.
  static bool has_agreed(Agreement* agreement, const Signature& signature);
  /// Makes the ranks agree: all of them are within a call of that signature.
  Agreement* agree(const Signature& signature, const Arguments& arguments);

 private:
  explicit CommunicatorState(MPI_Comm communicator);
  static CommunicatorState* make(MPI_Comm communicator);
  /// Where the agreement is, or would be.
  Agreement** slot_of(std::uint64_t key);
  void grow();
  Reason refusal(const Signature& signature, const Arguments& arguments);

  Reason refused_ = Reason::none;
  int rank_ = 0;
  int ranks_ = 0;
  CclCommunicator* ccl_ = nullptr;
  Reason no_ccl_ = Reason::none;              // why there is none, if that is known
  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;  // of the table: threads may send and receive at the same time
  Agreement** agreements_ = nullptr;          // a hash table
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
  bool has_foreign_waits_ = false;
};

/// Whether all ranks of the program have been given the same settings: all of them call this. Else one would make calls
/// that another does not know of.
bool have_same_settings();

/// Sets `signature`. Returns what of the arguments makes NCCL impossible, on all ranks alike.
Reason sign(const Arguments& arguments, std::uint64_t bytes, Signature& signature);

}  // namespace commlens::reroute
