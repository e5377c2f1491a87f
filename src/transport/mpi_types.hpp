// Types, reductions and counts as MPI wants them.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "device/data_type.hpp"
#include "transport/collectives.hpp"
#include "transport/communicator.hpp"
#include "transport/transport.hpp"

namespace commlens::transport {

/// MPI has no floating-point numbers of 8 and 16 bits: they are integers of that size to it.
MPI_Datatype mpi_type(DataType type);
/// Whether MPI reduces the type itself; otherwise with functions of ours, as applications do.
bool mpi_reduces(DataType type);
/// Of MPI; throws Error for a type that it does not reduce, for complex numbers unless they are summed, and for a
/// reduction that is none of MPI's.
MPI_Op mpi_operation(Reduction reduction, DataType type);

/// The same with functions of ours, where MPI has none.
class MpiReduction {
 public:
  MpiReduction(Reduction reduction, DataType type);
  MpiReduction(MpiReduction&&) = delete;
  ~MpiReduction();

  [[nodiscard]] MPI_Op handle() const { return handle_; }
  /// Whether a function of ours does it.
  [[nodiscard]] static bool is_ours(Reduction reduction, DataType type) {
    return reduction == Reduction::user || !mpi_reduces(type);
  }

 private:
  bool owned_;
  MPI_Op handle_ = MPI_OP_NULL;
};

/// `count` elements in a row, committed; of pieces of at most `most` elements, where one call cannot describe more (a
/// struct, as in Hammond, Schaefer, Latham: To INT_MAX... and Beyond, ExaMPI 2014). To be freed by MPI_Type_free.
MPI_Datatype contiguous(std::size_t count, MPI_Datatype element, std::size_t most = std::numeric_limits<int>::max());

/// Counts and displacements for MPI, in units of a type. The unit is an element, unless the pieces extend beyond what a
/// displacement can express; then it is the largest that divides all of them. The peer may use another unit: only the
/// bytes must match.
template <class Count, class Displacement>
class BasicLayout {
 public:
  /// The pieces are in elements of `element`. Throws Error, which names the call, where no unit will do.
  BasicLayout(std::span<const Piece> pieces, const char* call, MPI_Datatype element = MPI_BYTE);
  BasicLayout(BasicLayout&&) = delete;
  ~BasicLayout();

  [[nodiscard]] const Count* counts() const { return counts_.data(); }
  [[nodiscard]] const Displacement* displacements() const { return displacements_.data(); }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

 private:
  std::vector<Count> counts_;
  std::vector<Displacement> displacements_;
  MPI_Datatype type_;
  bool owned_ = false;
};

using Layout = BasicLayout<int, int>;

}  // namespace commlens::transport
