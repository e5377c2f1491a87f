// The lists of nodes that kernels go through, in the memory in which the data lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/device.hpp"
#include "gather_scatter/gather_scatter.hpp"

namespace commlens::gather_scatter {

/// Groups as a kernel sees them: as in Groups.
struct GroupList {
  const std::uint32_t* first;
  const std::uint32_t* nodes;
  std::size_t size;
};

/// What is combined to the value of shared group g: by ranks, ascending, slots[first[g]] … slots[first[g + 1] - 1].
/// A slot is where the value that goes to a rank, or has come from it, lies among all that are sent or received; for
/// the rank itself it is `own`.
struct Contributions {
  static constexpr std::uint32_t own = 0xffffffff;

  const std::uint32_t* first;
  const std::uint32_t* slots;
};

/// A table of the host, copied to where `allocate` of the surroundings lies. Waits.
device::Buffer uploaded(const std::vector<std::uint32_t>& table, const Surroundings& surroundings);

class Lists {
 public:
  Lists(const Sharing& sharing, const Surroundings& surroundings);

  [[nodiscard]] const Sharing& sharing() const { return sharing_; }
  [[nodiscard]] GroupList local() const { return {at(local_first_), at(local_nodes_), sharing_.local.size()}; }
  [[nodiscard]] GroupList shared() const { return {at(shared_first_), at(shared_nodes_), sharing_.shared.size()}; }
  [[nodiscard]] Contributions contributions() const { return {at(contributions_first_), at(slots_)}; }
  /// Of the shared groups; there are none where all_reduce is not tried.
  [[nodiscard]] const std::uint32_t* labels() const { return at(labels_); }
  [[nodiscard]] std::size_t bytes() const { return table_.bytes(); }

 private:
  [[nodiscard]] const std::uint32_t* at(std::size_t place) const { return table_.as<std::uint32_t>() + place; }

  const Sharing& sharing_;
  std::size_t local_first_ = 0;  ///< places in the table, which is one buffer
  std::size_t local_nodes_ = 0;
  std::size_t shared_first_ = 0;
  std::size_t shared_nodes_ = 0;
  std::size_t contributions_first_ = 0;
  std::size_t slots_ = 0;
  std::size_t labels_ = 0;
  device::Buffer table_;
};

}  // namespace commlens::gather_scatter
