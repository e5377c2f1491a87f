// The lists of nodes that kernels iterate over, in the memory of the data, and the kernels that several methods use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/device.hpp"
#include "gather_scatter/gather_scatter.hpp"

namespace commlens::gather_scatter {

/// Groups for a kernel; see Groups.
struct GroupList {
  const std::uint32_t* first;
  const std::uint32_t* nodes;
  std::size_t size;
};

/// The contributions that make up the value of shared group g, in ascending order of their ranks:
/// slots[first[g]] … slots[first[g + 1] - 1]. A slot is the position of a value in the message buffers, those sent and
/// those received alike; this rank's own contribution has the slot `this_rank`.
struct Contributions {
  static constexpr std::uint32_t this_rank = 0xffffffff;

  const std::uint32_t* first;
  const std::uint32_t* slots;
};

class Lists {
 public:
  Lists(const Sharing& sharing, const Context& context);

  [[nodiscard]] const Sharing& sharing() const { return sharing_; }
  [[nodiscard]] GroupList local() const { return {at(local_first_), at(local_nodes_), sharing_.local.size()}; }
  [[nodiscard]] GroupList shared() const { return {at(shared_first_), at(shared_nodes_), sharing_.shared.size()}; }
  [[nodiscard]] Contributions contributions() const { return {at(contributions_first_), at(slots_)}; }
  /// Of the shared groups; only where all_reduce is supported.
  [[nodiscard]] const std::uint32_t* global_indices() const { return at(global_indices_); }
  [[nodiscard]] std::size_t bytes() const { return table_.bytes(); }

 private:
  [[nodiscard]] const std::uint32_t* at(std::size_t offset) const { return table_.as<std::uint32_t>() + offset; }

  const Sharing& sharing_;
  std::size_t local_first_ = 0;  ///< offsets in the table, which is one buffer
  std::size_t local_nodes_ = 0;
  std::size_t shared_first_ = 0;
  std::size_t shared_nodes_ = 0;
  std::size_t contributions_first_ = 0;
  std::size_t slots_ = 0;
  std::size_t global_indices_ = 0;
  device::Buffer table_;
};

/// Combines the nodes of local groups.
void combine_local(const ValueKind& kind, const Lists& lists, void* data, device::Stream& stream);

/// One value of the exchange type per shared group and field. Group g and field f have element
/// indices[g] + f * stride, or g + f * stride without indices.
struct Values {
  void* data = nullptr;
  const std::uint32_t* indices = nullptr;
  std::size_t stride = 0;
};

/// Combines the nodes of each shared group into its value.
void gather(const ValueKind& kind, const Lists& lists, const void* data, const Values& values, device::Stream& stream);
/// Sets the nodes of each shared group to its value.
void scatter(const ValueKind& kind, const Lists& lists, const Values& values, void* data, device::Stream& stream);

}  // namespace commlens::gather_scatter
