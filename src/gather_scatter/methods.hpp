// The methods, one file each, and what they have in common.
#pragma once

#include <memory>
#include <utility>

#include "gather_scatter/gather_scatter.hpp"
#include "gather_scatter/kernels.hpp"
#include "gather_scatter/lists.hpp"

namespace commlens::gather_scatter {

using SharedLists = std::shared_ptr<const Lists>;

/// All methods combine in the same way what is shared inside the rank.
class OnLists : public GatherScatter {
 public:
  OnLists(SharedLists lists, const Kind& kind) : lists_(std::move(lists)), kind_(kind) {}

  void local(void* data, device::Stream& stream) override {
    step(part::local, stream, [&] { combine_local(kind_, *lists_, data, stream); });
  }
  [[nodiscard]] std::size_t list_bytes() const override { return lists_->bytes(); }

 protected:
  [[nodiscard]] const Lists& lists() const { return *lists_; }
  [[nodiscard]] const Sharing& sharing() const { return lists_->sharing(); }
  [[nodiscard]] const Kind& kind() const { return kind_; }
  /// Of one node, all fields, as it travels.
  [[nodiscard]] std::size_t wire_bytes() const { return kind_.fields * size_of(kind_.wire); }

 private:
  SharedLists lists_;
  Kind kind_;
};

/// `method` is pairwise or neighbor.
std::unique_ptr<GatherScatter> make_pairwise(Method method, SharedLists lists, const Kind& kind,
                                             const Surroundings& surroundings);
std::unique_ptr<GatherScatter> make_crystal_router(SharedLists lists, const Kind& kind,
                                                   const Surroundings& surroundings);
std::unique_ptr<GatherScatter> make_all_reduce(SharedLists lists, const Kind& kind, const Surroundings& surroundings);
std::unique_ptr<GatherScatter> make_on_host(SharedLists lists, const Kind& kind, const Surroundings& surroundings);

/// Most that the crystal router asks of allocate(), where no rank has more than `groups` shared groups.
double crystal_router_bytes(std::size_t groups, int ranks, const Kind& kind);

}  // namespace commlens::gather_scatter
