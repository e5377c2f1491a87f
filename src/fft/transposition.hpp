// Carries out a redistribution: packs, exchanges and unpacks, over a sub-communicator that is cached or made every
// time.
#pragma once

#include <cstddef>
#include <memory>

#include "base/enum_names.hpp"
#include "device/device.hpp"
#include "device/steps.hpp"
#include "fft/process_grid.hpp"
#include "fft/redistribution.hpp"
#include "transport/transport.hpp"

namespace commlens::fft {

/// How blocks are exchanged: in one alltoallv; with one peer after the other; or pipelined, so that packing, messages
/// and unpacking for different peers overlap.
enum class Exchange { alltoallv, pairwise, pipelined };
ENUM_NAMES(Exchange, {alltoallv, "alltoallv"}, {pairwise, "pairwise"}, {pipelined, "pipelined"});

/// The parts that the steps of a transform belong to.
namespace part {
inline constexpr const char* local_fft = "local FFT";
inline constexpr const char* packing = "pack and unpack";
inline constexpr const char* communication = "communication";
inline constexpr const char* communicators = "communicators";
}  // namespace part

/// The ranks that take part in a redistribution: a line of the process grid, or all.
struct Members {
  transport::Transport& all;          ///< of all ranks
  const ProcessGrid* grid = nullptr;  ///< nullptr: all ranks, without a sub-communicator
  int axis = 0;                       ///< of the line
  bool cached = true;                 ///< the sub-communicator, counts and messages are made once
};

class Transposition {
 public:
  /// `redistribution`, and what `blocks` and `members` refer to, must outlive it. Only the blocks of `blocks` are used.
  /// Collective if `members` are cached.
  Transposition(const Redistribution& redistribution, DataType type, const Arrays& blocks, const Members& members,
                Exchange exchange, const device::Allocate& allocate, device::Stream& stream);
  Transposition(Transposition&&) = delete;
  ~Transposition();

  /// From the layout before to the layout after, multiplied by `scale`. Collective.
  void forward(const void* before, void* after, double scale, StepObserver* observer, device::Stream& stream);
  /// From the layout after to the layout before. Collective.
  void backward(const void* after, void* before, StepObserver* observer, device::Stream& stream);
  /// The exchange alone, in one alltoallv, with whatever the blocks contain. Only if it is cached. Collective.
  void exchange_blocks(device::Direction direction, device::Stream& stream);

 private:
  struct Connection;

  /// One run: its direction and its arrays.
  struct Move {
    device::Direction direction;
    Arrays arrays;
    double scale;
    StepObserver* observer;
    device::Stream& stream;
  };

  [[nodiscard]] std::unique_ptr<Connection> connect() const;
  void run(const Move& move);
  void at_once(Connection& connection, const Move& move);
  void pipelined(Connection& connection, const Move& move);
  /// Packs or unpacks all blocks, those before or those after.
  void move_all(const Move& move, bool before) const;

  const Redistribution& redistribution_;
  std::size_t size_;  ///< bytes of an element
  Arrays blocks_;
  Members members_;
  Exchange exchange_;
  Packer packer_;
  std::unique_ptr<Connection> cached_;
};

}  // namespace commlens::fft
