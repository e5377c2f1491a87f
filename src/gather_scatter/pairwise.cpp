// One message to each rank that shares nodes. One kernel packs all messages, one unpacks them.
//
// A value that is sent to several ranks is combined once. All ranks combine the same contributions in the same order,
// so that all get the same bits; a contribution that is rounded for the others is rounded on its own rank, too.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "device/launch.hpp"
#include "gather_scatter/fold.hpp"
#include "gather_scatter/methods.hpp"

namespace commlens::gather_scatter {

namespace {

/// A rank's data and its messages of one direction. In a message the fields of a node are adjacent.
template <class T, class W>
struct Arrays {
  T* data;
  std::size_t nodes;
  std::size_t fields;
  W* messages;
};

template <class Operation, class T, class W>
void pack(Operation operation, GroupList groups, Contributions contributions, Arrays<const T, W> arrays,
          device::Stream& stream) {
  device::launch(
      stream, groups.size, COMMLENS_LAMBDA(std::size_t group) {
        for (std::size_t field = 0; field < arrays.fields; ++field) {
          const W value = static_cast<W>(combine_nodes(operation, groups, group, arrays.data + field * arrays.nodes));
          for (std::uint32_t i = contributions.first[group]; i < contributions.first[group + 1]; ++i) {
            const std::uint32_t slot = contributions.slots[i];
            if (slot != Contributions::this_rank) arrays.messages[slot * arrays.fields + field] = value;
          }
        }
      });
}

template <class Operation, class T, class W>
void unpack(Operation operation, GroupList groups, Contributions contributions, Arrays<T, const W> arrays,
            device::Stream& stream) {
  device::launch(
      stream, groups.size, COMMLENS_LAMBDA(std::size_t group) {
        for (std::size_t field = 0; field < arrays.fields; ++field) {
          T* const data = arrays.data + field * arrays.nodes;
          const W local = static_cast<W>(combine_nodes(operation, groups, group, data));
          std::uint32_t i = contributions.first[group];
          T value{};
          for (const std::uint32_t first = i; i < contributions.first[group + 1]; ++i) {
            const std::uint32_t slot = contributions.slots[i];
            const auto next = static_cast<T>(
                slot == Contributions::this_rank ? local : arrays.messages[slot * arrays.fields + field]);
            value = i == first ? next : operation(value, next);
          }
          set_nodes(value, groups, group, data);
        }
      });
}

class Pairwise final : public OnLists {
 public:
  Pairwise(Method method, SharedLists lists, const ValueKind& kind, const Context& context)
      : OnLists(std::move(lists), kind, context), messages_(context.allocate(2 * sharing().sent() * exchange_bytes())) {
    const auto sends = messages_from(outgoing());
    const auto receives = messages_from(incoming());
    exchange_ = method == Method::neighbor ? context.transport.neighbor_exchange(sends, receives)
                                           : context.transport.exchange(sends, receives);
  }

  /// Without nodes of this rank alone there is nothing to overlap with the messages.
  void apply(void* data, device::Stream& stream) override {
    if (lists().local().size > 0) return OnLists::apply(data, stream);
    pack_all(data, stream);
    step(part::exchange, stream, [&] { exchange(stream); });
    unpack_all(data, stream);
  }

  void start(void* data, device::Stream& stream) override {
    pack_all(data, stream);
    step(part::exchange, stream, [&] { exchange_->start(stream); });
  }

  void finish(void* data, device::Stream& stream) override {
    step(part::exchange, stream, [&] { exchange_->finish(stream); });
    unpack_all(data, stream);
  }

  void exchange(device::Stream& stream) override { exchange_->run(stream); }

  [[nodiscard]] std::size_t buffer_bytes() const override { return messages_.bytes(); }

 private:
  void pack_all(const void* data, device::Stream& stream) {
    dispatch(kind(), [&](auto types, auto operation) {
      using T = typename decltype(types)::Value;
      using W = typename decltype(types)::Exchanged;
      const Arrays<const T, W> arrays{static_cast<const T*>(data), sharing().nodes, kind().fields,
                                      static_cast<W*>(outgoing())};
      step(part::pack, stream, [&] { pack(operation, lists().shared(), lists().contributions(), arrays, stream); });
    });
  }

  void unpack_all(void* data, device::Stream& stream) {
    dispatch(kind(), [&](auto types, auto operation) {
      using T = typename decltype(types)::Value;
      using W = typename decltype(types)::Exchanged;
      const Arrays<T, const W> arrays{static_cast<T*>(data), sharing().nodes, kind().fields,
                                      static_cast<const W*>(incoming())};
      step(part::unpack, stream, [&] { unpack(operation, lists().shared(), lists().contributions(), arrays, stream); });
    });
  }

  [[nodiscard]] void* outgoing() const { return messages_.data(); }
  [[nodiscard]] void* incoming() const { return messages_.as<std::byte>() + messages_.bytes() / 2; }

  /// One per peer, adjacent in memory.
  [[nodiscard]] std::vector<transport::Message> messages_from(void* begin) const {
    std::vector<transport::Message> messages;
    auto* next = static_cast<std::byte*>(begin);
    for (const Sharing::Peer& peer : sharing().peers) {
      messages.push_back({peer.rank, next, peer.groups.size() * exchange_bytes()});
      next += messages.back().bytes;
    }
    return messages;
  }

  device::Buffer messages_;  ///< outgoing, followed by incoming
  std::unique_ptr<transport::Exchange> exchange_;
};

}  // namespace

std::unique_ptr<GatherScatter> make_pairwise(Method method, SharedLists lists, const ValueKind& kind,
                                             const Context& context) {
  return std::make_unique<Pairwise>(method, std::move(lists), kind, context);
}

}  // namespace commlens::gather_scatter
