// One reduction of a vector with an element for each shared id of all ranks. Most of it is the neutral element: a rank
// contributes to few of the ids.
#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <utility>

#include "device/launch.hpp"
#include "gather_scatter/fold.hpp"
#include "gather_scatter/methods.hpp"

namespace commlens::gather_scatter {

namespace {

using transport::Reduction;

Reduction reduction_of(Combine combine) {
  using enum Reduction;
  return entry_of(std::array{sum, prod, min, max}, combine);
}

/// Combined with any value it gives that value.
double neutral(Combine combine) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return entry_of(std::array{0.0, 1.0, infinity, -infinity}, combine);
}

template <class W>
void fill(W* values, std::size_t count, W value, device::Stream& stream) {
  device::launch(stream, count, COMMLENS_LAMBDA(std::size_t i) { values[i] = value; });
}

class AllReduce final : public OnLists {
 public:
  AllReduce(SharedLists lists, const ValueKind& kind, const Context& context)
      : OnLists(std::move(lists), kind, context),
        transport_(context.transport),
        vector_(context.allocate(sharing().shared_ids * exchange_bytes())) {}

  void start(void* data, device::Stream& stream) override {
    step(part::pack, stream, [&] { pack(data, stream); });
    step(part::exchange, stream, [&] { exchange(stream); });
  }

  void finish(void* data, device::Stream& stream) override {
    step(part::unpack, stream, [&] { scatter(kind(), lists(), values(), data, stream); });
  }

  void exchange(device::Stream& stream) override {
    transport_.allreduce(vector_.data(), vector_.data(), count(), kind().exchange_type, stream,
                         reduction_of(kind().combine));
  }

  [[nodiscard]] std::size_t buffer_bytes() const override { return vector_.bytes(); }

 private:
  void pack(const void* data, device::Stream& stream) {
    in_precision(kind().exchange_type, [&](auto real) {
      fill(vector_.as<decltype(real)>(), count(), static_cast<decltype(real)>(neutral(kind().combine)), stream);
    });
    gather(kind(), lists(), data, values(), stream);
  }

  [[nodiscard]] std::size_t count() const { return sharing().shared_ids * kind().fields; }
  [[nodiscard]] Values values() const { return {vector_.data(), lists().global_indices(), sharing().shared_ids}; }

  transport::Transport& transport_;
  device::Buffer vector_;  ///< field by field, each by global index
};

}  // namespace

std::unique_ptr<GatherScatter> make_all_reduce(SharedLists lists, const ValueKind& kind, const Context& context) {
  return std::make_unique<AllReduce>(std::move(lists), kind, context);
}

}  // namespace commlens::gather_scatter
