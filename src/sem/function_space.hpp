// The functions of one polynomial order on a mesh, as vectors that hold every unknown once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/device.hpp"
#include "gather_scatter/gather_scatter.hpp"
#include "sem/mesh.hpp"
#include "sem/numbering.hpp"
#include "transport/context.hpp"

namespace commlens::sem {

class FunctionSpace {
 public:
  /// Collective. What the context refers to must outlive it.
  FunctionSpace(Mesh mesh, const Context& context);
  FunctionSpace(FunctionSpace&&) = delete;

  [[nodiscard]] const Mesh& mesh() const { return mesh_; }
  [[nodiscard]] int order() const { return mesh_.shape().order; }
  [[nodiscard]] const Numbering& numbering() const { return numbering_; }
  [[nodiscard]] std::size_t length() const { return numbering_.unknowns; }  ///< of this rank's vectors
  [[nodiscard]] const std::shared_ptr<const gather_scatter::Lists>& lists() const { return lists_; }

  /// By node: its unknown, as Numbering::of_node. In the context's memory, like all that follows.
  [[nodiscard]] const std::uint32_t* unknowns() const { return unknowns_.as<std::uint32_t>(); }
  /// By unknown: 1 / (number of elements that have it), of all ranks.
  [[nodiscard]] const float* weights() const { return weights_.as<float>(); }
  /// By node: its unknown, without flags, for one of the nodes of this rank that have it; Numbering::fixed for all
  /// others. Elements that write by this list write each unknown once.
  [[nodiscard]] const std::uint32_t* writers() const { return writers_.as<std::uint32_t>(); }

  /// The vector of values given by node, added up by unknown on this rank.
  [[nodiscard]] std::vector<double> from_nodes(const std::vector<double>& nodal) const;
  /// Bytes that one allocates in the context's memory, at most, without the lists of its gather-scatter.
  static double upper_bytes(double nodes, double length) {
    return 2 * nodes * sizeof(std::uint32_t) + length * sizeof(float) + 16 * 1024;
  }

 private:
  void weigh(const Context& context);

  Mesh mesh_;
  Numbering numbering_;
  std::shared_ptr<const gather_scatter::Lists> lists_;
  device::Buffer unknowns_;
  device::Buffer writers_;
  device::Buffer weights_;
};

}  // namespace commlens::sem
