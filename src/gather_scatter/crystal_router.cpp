// The range of ranks is halved in stages until one rank is left. At each stage a rank sends the values that ranks of
// the other half need to its partner there, and keeps those that its own half needs. So after a stage both halves hold
// all contributions to their ids, and contributions that meet on a rank are combined at once.
//
// A value is held with the list of the ranks that need it. In a range of odd size the upper half has one rank more; its
// last rank has a partner to send to, but none to receive from.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/launch.hpp"
#include "device/upload.hpp"
#include "gather_scatter/fold.hpp"
#include "gather_scatter/methods.hpp"
#include "transport/mpi_calls.hpp"

namespace commlens::gather_scatter {

namespace {

using transport::Communicator;
using transport::Message;

struct Half {
  int begin;
  int end;
};

/// With whom a rank communicates at one stage.
struct Partners {
  Half mine;
  Half other;
  int to;
  std::vector<int> from;  ///< ascending; two for the last rank of a smaller lower half, none for the odd rank
};

Partners partners_of(int rank, Half range) {
  const int lower = (range.end - range.begin) / 2;
  const int middle = range.begin + lower;
  if (rank < middle) {
    Partners partners{{range.begin, middle}, {middle, range.end}, rank + lower, {rank + lower}};
    if (rank == middle - 1 && rank + lower + 1 < range.end) partners.from.push_back(rank + lower + 1);
    return partners;
  }
  Partners partners{{middle, range.end}, {range.begin, middle}, std::min(rank - lower, middle - 1), {}};
  if (rank - lower < middle) partners.from.push_back(rank - lower);
  return partners;
}

/// A rank's values have places in its buffer: first those of its shared groups, then those that it passes on.
struct Stage {
  struct Source {
    int from;
    std::vector<std::uint32_t> places;
    std::uint32_t known;  ///< places below this one hold a value to combine with; others are written
  };

  bool lower;  ///< this rank is in the lower half, whose values come first
  int to;
  std::vector<std::uint32_t> sends;
  std::vector<Source> sources;

  [[nodiscard]] std::size_t received() const {
    std::size_t values = 0;
    for (const Source& source : sources) values += source.places.size();
    return values;
  }
};

struct Plan {
  std::vector<Stage> stages;
  std::size_t places = 0;

  [[nodiscard]] std::size_t most_sent() const {
    std::size_t most = 0;
    for (const Stage& stage : stages) most = std::max(most, stage.sends.size());
    return most;
  }
  [[nodiscard]] std::size_t most_received() const {
    std::size_t most = 0;
    for (const Stage& stage : stages) most = std::max(most, stage.received());
    return most;
  }
};

using Words = std::vector<std::int64_t>;

/// Sends `words` to a stage's partner, and receives those of the ranks that send to this one.
std::vector<Words> exchanged(Words& words, const Partners& partners, const Communicator& communicator) {
  const auto exchange = [&](Message send, const std::vector<Message>& receives) {
    transport::mpi_calls::Messages messages(communicator, {send}, receives);
    messages.start();
    messages.finish();
  };
  std::size_t length = words.size();
  std::vector<std::size_t> lengths(partners.from.size());
  std::vector<Message> receives;
  for (std::size_t i = 0; i < lengths.size(); ++i) receives.push_back({partners.from[i], &lengths[i], sizeof(length)});
  exchange({partners.to, &length, sizeof length}, receives);
  std::vector<Words> received;
  for (const std::size_t count : lengths) received.emplace_back(count);
  for (std::size_t i = 0; i < received.size(); ++i) {
    receives[i] = {partners.from[i], received[i].data(), received[i].size() * sizeof(std::int64_t)};
  }
  exchange({partners.to, words.data(), words.size() * sizeof(std::int64_t)}, receives);
  return received;
}

/// Makes the plan by routing, instead of values, their global indices with the ranks that need them.
class Planner {
 public:
  Planner(const Sharing& sharing, int rank) {
    for (const std::uint64_t index : sharing.global_indices) place_of(index);
    for_each_contribution(sharing, rank, [&](std::size_t group, int of) { ranks_[group].push_back(of); });
  }

  Stage stage(const Partners& partners, const Communicator& communicator) {
    Stage stage{.lower = partners.mine.begin < partners.other.begin, .to = partners.to, .sends = {}, .sources = {}};
    Words words;  // of each value that is sent: global index, number of ranks, the ranks
    for (std::uint32_t place = 0; place < ranks_.size(); ++place) {
      const std::vector<int> others = within(partners.other, ranks_[place]);
      ranks_[place] = within(partners.mine, ranks_[place]);
      if (others.empty()) continue;
      stage.sends.push_back(place);
      words.push_back(static_cast<std::int64_t>(global_indices_[place]));
      words.push_back(static_cast<std::int64_t>(others.size()));
      words.insert(words.end(), others.begin(), others.end());
    }
    const std::vector<Words> received = exchanged(words, partners, communicator);
    for (std::size_t i = 0; i < received.size(); ++i) {
      stage.sources.push_back(source_of(partners.from[i], received[i]));
    }
    return stage;
  }

  [[nodiscard]] std::size_t places() const { return ranks_.size(); }

 private:
  static std::vector<int> within(Half half, const std::vector<int>& ranks) {
    return {std::lower_bound(ranks.begin(), ranks.end(), half.begin),
            std::lower_bound(ranks.begin(), ranks.end(), half.end)};
  }

  std::uint32_t place_of(std::uint64_t global_index) {
    const auto [entry, is_new] = places_.try_emplace(global_index, static_cast<std::uint32_t>(global_indices_.size()));
    if (is_new) {
      global_indices_.push_back(global_index);
      ranks_.emplace_back();
    }
    return entry->second;
  }

  Stage::Source source_of(int from, const Words& words) {
    Stage::Source source{.from = from, .places = {}, .known = static_cast<std::uint32_t>(global_indices_.size())};
    for (std::size_t at = 0; at < words.size();) {
      const std::uint32_t place = place_of(static_cast<std::uint64_t>(words[at]));
      const std::int64_t* const ranks = words.data() + at + 2;
      ranks_[place].assign(ranks, ranks + words[at + 1]);
      source.places.push_back(place);
      at += 2 + static_cast<std::size_t>(words[at + 1]);
    }
    return source;
  }

  std::unordered_map<std::uint64_t, std::uint32_t> places_;  ///< by global index
  std::vector<std::uint64_t> global_indices_;                ///< by place
  std::vector<std::vector<int>> ranks_;  ///< by place: those in the stage's range that need the value, ascending
};

Plan plan_for(const Sharing& sharing, const Communicator& communicator) {
  Planner planner(sharing, communicator.rank());
  Plan plan;
  for (Half range{0, communicator.size()}; range.end - range.begin > 1;) {
    const Partners partners = partners_of(communicator.rank(), range);
    plan.stages.push_back(planner.stage(partners, communicator));
    range = partners.mine;
  }
  plan.places = planner.places();
  return plan;
}

/// The buffer holds values field by field; in a message the fields of a value are adjacent.
template <class W>
struct Side {
  W* values;
  std::size_t stride;
  std::size_t fields;
  W* message;
  const std::uint32_t* places;
  std::size_t count;
};

template <class W>
void pack(Side<W> side, device::Stream& stream) {
  device::launch(
      stream, side.count, COMMLENS_LAMBDA(std::size_t i) {
        for (std::size_t field = 0; field < side.fields; ++field) {
          side.message[i * side.fields + field] = side.values[side.places[i] + field * side.stride];
        }
      });
}

/// The lower half's value is the first operand on both sides, so that partners get the same bits.
template <class Operation, class W>
void unpack(Operation operation, Side<W> side, std::uint32_t known, bool lower, device::Stream& stream) {
  device::launch(
      stream, side.count, COMMLENS_LAMBDA(std::size_t i) {
        const std::uint32_t place = side.places[i];
        for (std::size_t field = 0; field < side.fields; ++field) {
          W& mine = side.values[place + field * side.stride];
          const W theirs = side.message[i * side.fields + field];
          if (place >= known) {
            mine = theirs;
          } else {
            mine = lower ? operation(mine, theirs) : operation(theirs, mine);
          }
        }
      });
}

class CrystalRouter final : public OnLists {
 public:
  CrystalRouter(SharedLists lists, const ValueKind& kind, const Context& context)
      : OnLists(std::move(lists), kind, context),
        plan_(plan_for(sharing(), context.communicator)),
        table_(device::upload(table_of(plan_), context.allocate, context.stream)),
        buffer_(context.allocate((plan_.places + plan_.most_sent() + plan_.most_received()) * exchange_bytes())) {
    const auto* places = table_.as<std::uint32_t>();
    for (const Stage& stage : plan_.stages) {
      OnDevice on_device{.sends = places, .sources = {}, .exchange = nullptr};
      std::vector<Message> sends;
      std::vector<Message> receives;
      if (!stage.sends.empty()) sends.push_back({stage.to, outgoing(), stage.sends.size() * exchange_bytes()});
      places += stage.sends.size();
      auto* next = incoming();
      for (const Stage::Source& source : stage.sources) {
        on_device.sources.push_back({places, next});
        if (!source.places.empty()) receives.push_back({source.from, next, source.places.size() * exchange_bytes()});
        places += source.places.size();
        next += source.places.size() * exchange_bytes();
      }
      on_device.exchange = context.transport.exchange(sends, receives);
      stages_.push_back(std::move(on_device));
    }
  }

  void start(void* data, device::Stream& stream) override {
    step(part::pack, stream, [&] { gather(kind(), lists(), data, values(), stream); });
    if (stages_.empty()) return;
    pack_stage(0, stream);
    step(part::exchange, stream, [&] { stages_.front().exchange->start(stream); });
  }

  void finish(void* data, device::Stream& stream) override {
    for (std::size_t number = 0; number < stages_.size(); ++number) {
      transport::Exchange& messages = *stages_[number].exchange;
      if (number > 0) pack_stage(number, stream);
      step(part::exchange, stream, [&] { number > 0 ? messages.run(stream) : messages.finish(stream); });
      step(part::unpack, stream, [&] { unpack_all(stages_[number], plan_.stages[number], stream); });
    }
    step(part::unpack, stream, [&] { scatter(kind(), lists(), values(), data, stream); });
  }

  void exchange(device::Stream& stream) override {
    for (const OnDevice& stage : stages_) stage.exchange->run(stream);
  }

  [[nodiscard]] std::size_t buffer_bytes() const override { return buffer_.bytes() - plan_.places * exchange_bytes(); }
  [[nodiscard]] std::size_t list_bytes() const override { return OnLists::list_bytes() + table_.bytes(); }

 private:
  /// A stage with its lists on the device.
  struct OnDevice {
    struct Source {
      const std::uint32_t* places;
      std::byte* message;
    };

    const std::uint32_t* sends;
    std::vector<Source> sources;
    std::unique_ptr<transport::Exchange> exchange;
  };

  static std::vector<std::uint32_t> table_of(const Plan& plan) {
    std::vector<std::uint32_t> table;
    for (const Stage& stage : plan.stages) {
      table.insert(table.end(), stage.sends.begin(), stage.sends.end());
      for (const auto& source : stage.sources) table.insert(table.end(), source.places.begin(), source.places.end());
    }
    return table;
  }

  void pack_stage(std::size_t number, device::Stream& stream) {
    const OnDevice& stage = stages_[number];
    step(part::pack, stream, [&] {
      dispatch(kind(), [&](auto types, auto /*operation*/) {
        using W = typename decltype(types)::Exchanged;
        pack(side<W>(outgoing(), stage.sends, plan_.stages[number].sends.size()), stream);
      });
    });
  }

  void unpack_all(const OnDevice& on_device, const Stage& stage, device::Stream& stream) const {
    dispatch(kind(), [&](auto types, auto operation) {
      using W = typename decltype(types)::Exchanged;
      for (std::size_t i = 0; i < stage.sources.size(); ++i) {
        const auto& [places, message] = on_device.sources[i];
        const auto& source = stage.sources[i];
        unpack(operation, side<W>(message, places, source.places.size()), source.known, stage.lower, stream);
      }
    });
  }

  template <class W>
  [[nodiscard]] Side<W> side(std::byte* message, const std::uint32_t* places, std::size_t count) const {
    return {buffer_.as<W>(), plan_.places, kind().fields, reinterpret_cast<W*>(message), places, count};
  }

  [[nodiscard]] Values values() const { return {.data = buffer_.data(), .indices = nullptr, .stride = plan_.places}; }
  [[nodiscard]] std::byte* outgoing() const { return buffer_.as<std::byte>() + plan_.places * exchange_bytes(); }
  [[nodiscard]] std::byte* incoming() const { return outgoing() + plan_.most_sent() * exchange_bytes(); }

  Plan plan_;
  device::Buffer table_;   ///< the places of all stages, in their order
  device::Buffer buffer_;  ///< values, and the messages of one stage at a time
  std::vector<OnDevice> stages_;
};

}  // namespace

std::unique_ptr<GatherScatter> make_crystal_router(SharedLists lists, const ValueKind& kind, const Context& context) {
  return std::make_unique<CrystalRouter>(std::move(lists), kind, context);
}

}  // namespace commlens::gather_scatter
