// Restricted additive Schwarz by fast diagonalization: each element, extended by one layer of nodes of its face
// neighbors, is solved as if it were a box; of the solutions the element's own nodes are kept, and averaged where
// several elements have a node (Cai and Sarkis, SIAM J. Sci. Comput. 21, 1999; Fischer and Lottes, 2004).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gather_scatter/choice.hpp"
#include "gather_scatter/sharing.hpp"
#include "sem/function_space.hpp"
#include "solvers/level.hpp"

namespace commlens::solvers {

/// The elements of a rank, each extended by the first interior nodes of its face neighbors. A vector that is read so
/// has room for ghosts behind its unknowns: copies of other ranks' values, one for each global id. They are fetched by
/// a gather-scatter in which the ghosts are 0 and each id's owner has the value.
struct Extension {
  /// By element and face (at the lower end in x, at the upper end, and then those in y and in z): for each node of the
  /// face the place of its neighbor's first interior node in a vector with ghosts; Numbering::fixed where there is
  /// none. The face's nodes are in the order of the element's.
  std::vector<std::uint32_t> neighbors;
  std::size_t ghosts = 0;
  gather_scatter::Sharing sharing;  ///< of a vector with ghosts
};

/// Collective.
Extension extend(const sem::FunctionSpace& space, const transport::Communicator& communicator);

class Schwarz final : public Preconditioner {
 public:
  /// Collective. The level, of order 2 at least, and what else it is given must outlive it. Throws Error where the
  /// method is not supported.
  Schwarz(Level<float>& level, const LevelOptions& options, const Context& context, const Observation& observation);

  [[nodiscard]] std::size_t ghosts() const override { return extension_.ghosts; }
  [[nodiscard]] std::size_t added_from() const override { return level_.added_from(); }
  void apply_to_zero(float* input, float* output, device::Stream& stream) override;
  [[nodiscard]] bool enqueues() const override {
    return level_.enqueues() && (!fetch_.operation || fetch_.operation->enqueues());
  }

  /// Bytes that it allocates in the context's memory, at most, without its gather-scatter, and without a vector that it
  /// has while it is made.
  static double upper_bytes(double elements, int order);
  /// Bytes that an application reads and writes at least, vectors and their numbers not included.
  static double traffic(double elements, int order);

 private:
  void fetch_ghosts(float* input, device::Stream& stream);

  Level<float>& level_;
  const Observation& observation_;
  std::string step_;
  std::string exchange_step_;
  Extension extension_;
  gather_scatter::Selection fetch_;
  device::Buffer neighbors_;
  device::Buffer eigen_;
};

}  // namespace commlens::solvers
