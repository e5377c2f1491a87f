// Every method with every transport and memory that it supports here: exact results, for ids that no mesh has.
#include "gather_scatter/gather_scatter.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gather_scatter/choice.hpp"
#include "known_ids.hpp"
#include "world.hpp"

namespace commlens::gather_scatter {
namespace {

using device::Memory;

class EveryMethod : public InPlace {
 protected:
  template <class T>
  [[nodiscard]] device::Buffer uploaded_as(const std::vector<double>& values) const {
    return uploaded(std::vector<T>(values.begin(), values.end()));
  }
  template <class T>
  [[nodiscard]] std::vector<double> downloaded_as(const device::Buffer& buffer) const {
    const auto values = downloaded<T>(buffer);
    return {values.begin(), values.end()};
  }
  [[nodiscard]] device::Buffer written(const std::vector<double>& values, DataType type) const {
    return type == DataType::f32 ? uploaded_as<float>(values) : uploaded_as<double>(values);
  }
  [[nodiscard]] std::vector<double> read(const device::Buffer& buffer, DataType type) const {
    return type == DataType::f32 ? downloaded_as<float>(buffer) : downloaded_as<double>(buffer);
  }

  const std::size_t me = static_cast<std::size_t>(rank);
};

TEST_P(EveryMethod, IsExactForEveryKindAndRepeatedly) {
  for (const Case& known : cases) {
    const auto ids = known.ids(ranks);
    const Sharing sharing = discover(ids[me], world());
    const auto lists = make_lists(sharing, context());
    for (const Method method : all_values<Method>()) {
      for (const ValueKind& kind : every_kind()) {
        if (!unsupported(method, sharing, kind, context()).empty()) continue;
        const auto operation = make(method, lists, kind, context());
        const auto expected = right_answer(ids, kind, me);
        for (int repetition = 0; repetition < 2; ++repetition) {
          const auto data = written(inputs(ids, kind)[me], kind.type);
          operation->apply(data.data(), *stream);
          ASSERT_EQ(read(data, kind.type), expected) << known.name << ", " << name(method) << ", " << text(kind);
        }
      }
    }
  }
}

TEST_P(EveryMethod, AllocatesNoMoreThanTheEstimate) {
  for (const Case& known : cases) {
    const auto ids = known.ids(ranks);
    const Sharing sharing = discover(ids[me], world());
    const Load load{.nodes = world().maximum(static_cast<double>(sharing.nodes)),
                    .sent = world().maximum(static_cast<double>(sharing.sent())),
                    .ranks = ranks};
    for (const ValueKind& kind : every_kind()) {
      allocated = staged = 0;
      const auto lists = make_lists(sharing, context());
      for (const Method method : all_values<Method>()) {
        if (unsupported(method, sharing, kind, context()).empty()) make(method, lists, kind, context());
      }
      const Footprint estimate = upper_bytes(load, kind);
      EXPECT_LE(allocated, estimate.buffers) << known.name << ", " << text(kind);
      EXPECT_LE(staged, estimate.staging) << known.name << ", " << text(kind);
    }
  }
}

// The tests above detect if any of the three steps is missing.
TEST_P(EveryMethod, IsWrongWithoutAnyOfItsSteps) {
  const auto ids = random_ids(ranks);
  const Sharing sharing = discover(ids[me], world());
  const auto lists = make_lists(sharing, context());
  const ValueKind kind;
  const auto expected = right_answer(ids, kind, me);
  for (const Method method : all_values<Method>()) {
    if (!unsupported(method, sharing, kind, context()).empty()) continue;
    const auto operation = make(method, lists, kind, context());
    const auto data = written(inputs(ids, kind)[me], kind.type);
    operation->start(data.data(), *stream);
    if (ranks > 1) {
      operation->local(data.data(), *stream);
      EXPECT_NE(read(data, kind.type), expected) << name(method) << ": nothing is left to unpack";
    }
    operation->finish(data.data(), *stream);
    if (ranks > 1) {
      EXPECT_EQ(read(data, kind.type), expected) << name(method);
    } else {
      EXPECT_NE(read(data, kind.type), expected) << name(method) << ": nothing is left to combine";
    }
  }
}

/// All values of one id have the same bits.
void expect_equal_bits(const Ids& ids, const std::vector<double>& values, const std::string& label) {
  std::map<std::int64_t, std::pair<std::uint64_t, std::uint64_t>> bits;  // least and largest
  for (std::size_t node = 0; node < ids.size(); ++node) {
    const auto mine = std::bit_cast<std::uint64_t>(values[node]);
    auto& [least, largest] = bits.try_emplace(ids[node], mine, mine).first->second;
    least = std::min(least, mine);
    largest = std::max(largest, mine);
  }
  for (const std::int64_t id : Ids(ids)) {
    if (id == 0) continue;
    EXPECT_EQ(bits[id].first, bits[id].second) << label << ", id " << id;
  }
}

TEST_P(EveryMethod, GivesAllRanksTheSameBits) {
  const auto all_ids = random_ids(ranks);
  const Sharing sharing = discover(all_ids[me], world());
  const auto lists = make_lists(sharing, context());
  std::mt19937_64 random(static_cast<std::uint64_t>(rank));
  for (const Method method : {Method::pairwise, Method::neighbor, Method::crystal_router}) {
    const bool agrees = method != Method::crystal_router || std::has_single_bit(static_cast<unsigned>(ranks));
    for (const DataType exchange_type : {DataType::f64, DataType::f32}) {
      const ValueKind kind{.exchange_type = exchange_type};
      if (!agrees || !unsupported(method, sharing, kind, context()).empty()) continue;
      std::vector<double> values(all_ids[me].size());
      for (double& number : values) number = std::uniform_real_distribution(-1.0, 1.0)(random);
      const auto data = written(values, kind.type);
      const auto operation = make(method, lists, kind, context());
      operation->apply(data.data(), *stream);
      values = read(data, kind.type);
      std::string mine(values.size() * sizeof(double), '\0');
      if (!mine.empty()) std::memcpy(mine.data(), values.data(), mine.size());
      Ids ids;
      std::vector<double> of_all;
      const auto gathered = world().gather(mine);
      for (std::size_t other = 0; other < gathered.size(); ++other) {
        const std::size_t before = of_all.size();
        of_all.resize(before + all_ids[other].size());
        if (!gathered[other].empty()) std::memcpy(&of_all[before], gathered[other].data(), gathered[other].size());
        ids.insert(ids.end(), all_ids[other].begin(), all_ids[other].end());
      }
      expect_equal_bits(ids, of_all,
                        std::string(name(method)) + " sent as " + std::string(commlens::name(exchange_type)));
    }
  }
}

TEST_P(EveryMethod, TimesItself) {
  const auto ids = random_ids(ranks);
  const Sharing sharing = discover(ids[me], world());
  const auto lists = make_lists(sharing, context());
  const ValueKind kind;
  for (const Method method : all_values<Method>()) {
    if (!unsupported(method, sharing, kind, context()).empty()) continue;
    const auto operation = make(method, lists, kind, context());
    const auto data = written(inputs(ids, kind)[me], kind.type);
    const Timing timing = time_of(*operation, method, data.data(), sharing, kind, context());
    EXPECT_EQ(timing.method, method);
    EXPECT_GT(timing.seconds.minimum, 0);
    EXPECT_LE(timing.seconds.minimum, timing.seconds.average * 1.000001);
    EXPECT_LE(timing.seconds.average, timing.seconds.maximum * 1.000001);
    EXPECT_EQ(timing.bidirectional_GBps > 0, ranks > 1);
  }
  const Choice choice = choose_on_host(sharing, context());
  if (!transport->takes_host_memory()) return;
  ASSERT_EQ(choice.timings.size(), 3U);
  for (const Timing& timing : choice.timings) {
    EXPECT_LE(choice.timings[choice.used].seconds.maximum, timing.seconds.maximum);
  }
}

TEST_P(EveryMethod, SaysWhyItIsUnsupported) {
  Sharing sharing;
  sharing.shared_ids = longest_all_reduce;
  EXPECT_EQ(unsupported(Method::all_reduce, sharing, {}, context()),
            "100000 ids are shared; it is tried for fewer than 100000");
  EXPECT_EQ(unsupported(Method::pairwise, sharing, {.type = DataType::i32}, context()), "data of i32 sent as f64");
  EXPECT_EQ(unsupported(Method::pairwise, sharing, {.type = DataType::f32}, context()), "data of f32 sent as f64");
  EXPECT_EQ(unsupported(Method::host, sharing, {}, context()).empty(),
            device::on_gpu(GetParam().memory) && transport->takes_host_memory());
  const auto lists = make_lists(sharing, context());
  EXPECT_THROW(make(Method::all_reduce, lists, {}, context()), Error);
}

INSTANTIATE_TEST_SUITE_P(Places, EveryMethod,
                         testing::Values(Place{"mpi", Memory::host}, Place{"peer", Memory::host},
                                         Place{"mpi", Memory::device}, Place{"mpi", Memory::managed},
                                         Place{"staged", Memory::host}, Place{"staged", Memory::device},
                                         Place{"ccl", Memory::device}),
                         name_of);

}  // namespace
}  // namespace commlens::gather_scatter
