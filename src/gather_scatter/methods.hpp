// The methods, one file each, and what they have in common.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "gather_scatter/gather_scatter.hpp"
#include "gather_scatter/lists.hpp"

namespace commlens::gather_scatter {

using SharedLists = std::shared_ptr<const Lists>;

/// All methods combine the nodes that only this rank has in the same way.
class OnLists : public GatherScatter {
 public:
  OnLists(SharedLists lists, const ValueKind& kind, const Context& context)
      : lists_(std::move(lists)), kind_(kind), enqueues_(context.transport.enqueues()) {}

  void local(void* data, device::Stream& stream) override {
    step(part::local, stream, [&] { combine_local(kind_, *lists_, data, stream); });
  }
  [[nodiscard]] bool enqueues() const override { return enqueues_; }
  [[nodiscard]] std::size_t list_bytes() const override { return lists_->bytes(); }

 protected:
  [[nodiscard]] const Lists& lists() const { return *lists_; }
  [[nodiscard]] const Sharing& sharing() const { return lists_->sharing(); }
  [[nodiscard]] const ValueKind& kind() const { return kind_; }
  /// Of all fields of one node, in a message.
  [[nodiscard]] std::size_t exchange_bytes() const { return kind_.fields * size_of(kind_.exchange_type); }

 private:
  SharedLists lists_;
  ValueKind kind_;
  bool enqueues_;
};

/// `method` is pairwise or neighbor.
std::unique_ptr<GatherScatter> make_pairwise(Method method, SharedLists lists, const ValueKind& kind,
                                             const Context& context);
std::unique_ptr<GatherScatter> make_crystal_router(SharedLists lists, const ValueKind& kind, const Context& context);
std::unique_ptr<GatherScatter> make_all_reduce(SharedLists lists, const ValueKind& kind, const Context& context);
std::unique_ptr<GatherScatter> make_on_host(SharedLists lists, const ValueKind& kind, const Context& context);

}  // namespace commlens::gather_scatter
