// Every method over every transport and memory that it is fit for here: exact results for labels that no mesh has.
#include "gather_scatter/gather_scatter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gather_scatter/choice.hpp"

namespace commlens::gather_scatter {
namespace {

using device::Memory;
using transport::Communicator;

/// What all tests use, from after MPI_Init to before MPI_Finalize.
class Everybody : public testing::Environment {
 public:
  void SetUp() override {
    communicator.emplace(MPI_COMM_WORLD);
    const int gpus = device::gpu_count();
    device = gpus > 0 ? device::open_gpu(communicator->rank() % gpus) : device::open_host();
    device->make_current();
  }
  void TearDown() override {
    device.reset();
    communicator.reset();
  }

  std::optional<Communicator> communicator;
  std::unique_ptr<device::Device> device;
};

auto* const everybody = new Everybody;  // GoogleTest owns it
const auto* const registered = testing::AddGlobalTestEnvironment(everybody);

const Communicator& world() { return *everybody->communicator; }
device::Device& this_device() { return *everybody->device; }

using Ids = std::vector<std::int64_t>;

/// The ids of all ranks, which every rank can work out for itself; and so the right answer.
struct Case {
  std::string name;
  std::vector<Ids> (*ids)(int ranks);
};

/// 400 ids, beyond 2^32 and negative, each on one rank or on several, in 1 to 100 copies; every tenth node has id 0.
std::vector<Ids> random_ids(int ranks) {
  std::mt19937_64 random(20'260);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  std::vector<Ids> ids(static_cast<std::size_t>(ranks));
  for (int label = 0; label < 400; ++label) {
    const auto id = static_cast<std::int64_t>(random());
    const std::uint64_t copies = label % 3 == 0 ? 1 + below(100) : 1 + below(4);
    const std::uint64_t width = 1 + below(ids.size());  // of the ranks that have some
    const std::uint64_t first = below(ids.size());
    for (std::uint64_t copy = 0; copy < copies; ++copy) {
      Ids& there = ids[(first + below(width)) % ids.size()];
      there.push_back(id);
      if (there.size() % 10 == 9) there.push_back(0);
    }
  }
  for (Ids& there : ids) std::shuffle(there.begin(), there.end(), random);
  return ids;
}

/// The last rank has none at all, the first only ids of its own, one of them twice.
std::vector<Ids> lonely_ids(int ranks) {
  std::vector<Ids> ids = random_ids(ranks);
  ids.back().clear();
  if (ranks > 1) ids.front() = {7, 5, -3, 0, 5, 0};
  return ids;
}

std::vector<Ids> nothing_shared(int ranks) {
  std::vector<Ids> ids(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) ids[static_cast<std::size_t>(rank)] = {rank + 1, -rank - 1, rank + 1};
  return ids;
}

std::vector<Ids> no_ids(int ranks) { return std::vector<Ids>(static_cast<std::size_t>(ranks)); }

/// The extremes of 64 bits, on every rank.
std::vector<Ids> extreme_ids(int ranks) {
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  return std::vector<Ids>(static_cast<std::size_t>(ranks), Ids{largest, least, 0, -1, 1, least});
}

const Case cases[] = {{"random", random_ids},
                      {"lonely", lonely_ids},
                      {"nothing shared", nothing_shared},
                      {"no ids", no_ids},
                      {"extreme", extreme_ids}};

double combine(Combine how, double a, double b) {
  switch (how) {
    case Combine::add:
      return a + b;
    case Combine::multiply:
      return a * b;
    case Combine::minimum:
      return std::min(a, b);
    default:
      return std::max(a, b);
  }
}

/// Small enough for exact sums and products in f32, whatever the order: 2 and 1/2 are rare.
double value(Combine how, std::size_t rank, std::size_t node, std::size_t field) {
  const std::size_t mixed = rank * 7919 + node * 104'729 + field * 31;
  if (how == Combine::multiply) return std::array{1.0, -1.0, 1.0, 2.0, 1.0, 0.5, -1.0}[mixed % 7];
  return static_cast<double>(mixed % 19) - 9.0;
}

/// Of all ranks, by fields.
std::vector<std::vector<double>> inputs(const std::vector<Ids>& ids, const Kind& kind) {
  std::vector<std::vector<double>> all;
  for (std::size_t rank = 0; rank < ids.size(); ++rank) {
    std::vector<double> mine;
    for (std::size_t field = 0; field < kind.fields; ++field) {
      for (std::size_t node = 0; node < ids[rank].size(); ++node) {
        mine.push_back(value(kind.combine, rank, node, field));
      }
    }
    all.push_back(mine);
  }
  return all;
}

/// Without any of the library.
std::vector<double> right_answer(const std::vector<Ids>& ids, const Kind& kind, std::size_t me) {
  const auto all = inputs(ids, kind);
  std::vector<double> answer = all[me];
  for (std::size_t field = 0; field < kind.fields; ++field) {
    std::map<std::int64_t, double> of_id;
    for (std::size_t rank = 0; rank < ids.size(); ++rank) {
      for (std::size_t node = 0; node < ids[rank].size(); ++node) {
        const double next = all[rank][field * ids[rank].size() + node];
        const auto [found, is_first] = of_id.try_emplace(ids[rank][node], next);
        if (!is_first) found->second = combine(kind.combine, found->second, next);
      }
    }
    for (std::size_t node = 0; node < ids[me].size(); ++node) {
      if (ids[me][node] != 0) answer[field * ids[me].size() + node] = of_id.at(ids[me][node]);
    }
  }
  return answer;
}

struct Place {
  std::string transport;
  Memory memory;
};

class EveryMethod : public testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    const auto& place = GetParam();
    if (!this_device().has(place.memory)) GTEST_SKIP() << "no " << device::name(place.memory) << " memory";
    const auto& all = transport::kinds();
    const auto kind =
        std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == place.transport; });
    ASSERT_NE(kind, all.end());
    const transport::Surroundings needs{world(), this_device(), place.memory, ""};
    const std::string reason = world().first(kind->unfit(needs));
    if (!reason.empty()) GTEST_SKIP() << reason;
    transport = kind->make(needs);
    stream = this_device().stream(place.memory);
  }

  [[nodiscard]] Surroundings surroundings() {
    return {.communicator = world(),
            .transport = *transport,
            .device = this_device(),
            .memory = GetParam().memory,
            .stream = *stream,
            .allocate =
                [this](std::size_t bytes) {
                  allocated += static_cast<double>(bytes);
                  return this_device().allocate(GetParam().memory, bytes);
                },
            .allocate_staging =
                [this](std::size_t bytes) {
                  staged += static_cast<double>(bytes);
                  return this_device().allocate(this_device().staging_memory(), bytes);
                }};
  }

  template <class T>
  [[nodiscard]] device::Buffer written(const std::vector<double>& values) const {
    const std::vector<T> converted(values.begin(), values.end());
    auto buffer = this_device().allocate(GetParam().memory, converted.size() * sizeof(T));
    stream->copy(buffer.data(), converted.data(), buffer.bytes());
    stream->wait();
    return buffer;
  }

  template <class T>
  [[nodiscard]] std::vector<double> read(const device::Buffer& buffer) const {
    std::vector<T> values(buffer.bytes() / sizeof(T));
    stream->copy(values.data(), buffer.data(), buffer.bytes());
    stream->wait();
    return {values.begin(), values.end()};
  }

  [[nodiscard]] device::Buffer written(const std::vector<double>& values, DataType type) const {
    return type == DataType::f32 ? written<float>(values) : written<double>(values);
  }
  [[nodiscard]] std::vector<double> read(const device::Buffer& buffer, DataType type) const {
    return type == DataType::f32 ? read<float>(buffer) : read<double>(buffer);
  }

  const int rank = world().rank();
  const int ranks = world().size();
  const std::size_t me = static_cast<std::size_t>(world().rank());
  std::unique_ptr<device::Stream> stream;
  std::unique_ptr<transport::Transport> transport;
  double allocated = 0;
  double staged = 0;
};

constexpr Method methods[] = {Method::pairwise, Method::neighbor, Method::crystal_router, Method::all_reduce,
                              Method::host};
constexpr Combine combines[] = {Combine::add, Combine::multiply, Combine::minimum, Combine::maximum};

std::vector<Kind> every_kind() {
  std::vector<Kind> kinds;
  for (const std::size_t fields : {1, 3}) {
    for (const Combine combine : combines) {
      kinds.push_back({DataType::f64, DataType::f64, fields, combine});
      kinds.push_back({DataType::f64, DataType::f32, fields, combine});
      kinds.push_back({DataType::f32, DataType::f32, fields, combine});
    }
  }
  return kinds;
}

std::string text(const Kind& kind) {
  return std::string(name(kind.type)) + " sent as " + std::string(name(kind.wire)) + ", " +
         std::to_string(kind.fields) + " fields, combination " + std::to_string(static_cast<int>(kind.combine));
}

TEST_P(EveryMethod, IsExactForEveryKindAndAgain) {
  for (const Case& one : cases) {
    const auto ids = one.ids(ranks);
    const Sharing sharing = discover(ids[me], world());
    const auto lists = make_lists(sharing, surroundings());
    for (const Method method : methods) {
      for (const Kind& kind : every_kind()) {
        if (!unfit(method, sharing, kind, surroundings()).empty()) continue;
        const auto operation = make(method, lists, kind, surroundings());
        const auto expected = right_answer(ids, kind, me);
        for (int repetition = 0; repetition < 2; ++repetition) {
          const auto data = written(inputs(ids, kind)[me], kind.type);
          operation->apply(data.data(), *stream);
          ASSERT_EQ(read(data, kind.type), expected) << one.name << ", " << name(method) << ", " << text(kind);
        }
      }
    }
  }
}

TEST_P(EveryMethod, AsksForNoMoreThanItSays) {
  for (const Case& one : cases) {
    const auto ids = one.ids(ranks);
    const Sharing sharing = discover(ids[me], world());
    const std::size_t shared = sharing.shared.nodes.size();
    std::vector<double> counts{static_cast<double>(shared + sharing.local.nodes.size()), static_cast<double>(shared),
                               static_cast<double>(sharing.sent())};
    world().maximum(counts);
    const Counts most{.grouped_nodes = static_cast<std::size_t>(counts[0]),
                      .shared_nodes = static_cast<std::size_t>(counts[1]),
                      .sent = static_cast<std::size_t>(counts[2]),
                      .ranks = ranks};
    for (const Kind& kind : every_kind()) {
      allocated = staged = 0;
      const auto lists = make_lists(sharing, surroundings());
      for (const Method method : methods) {
        if (unfit(method, sharing, kind, surroundings()).empty()) make(method, lists, kind, surroundings());
      }
      const Bytes said = bytes(most, kind, device::on_gpu(GetParam().memory));
      EXPECT_LE(allocated, said.buffers) << one.name << ", " << text(kind);
      EXPECT_LE(staged, said.staging) << one.name << ", " << text(kind);
    }
  }
}

// What the checks of the tests above are worth: each of the three steps can be missed.
TEST_P(EveryMethod, IsWrongWithoutAnyOfItsSteps) {
  const auto ids = random_ids(ranks);
  const Sharing sharing = discover(ids[me], world());
  const auto lists = make_lists(sharing, surroundings());
  const Kind kind;
  const auto expected = right_answer(ids, kind, me);
  for (const Method method : methods) {
    if (!unfit(method, sharing, kind, surroundings()).empty()) continue;
    const auto operation = make(method, lists, kind, surroundings());
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

/// The bits that the ranks have for one id, at both ends.
void expect_equal_bits(const Ids& ids, const std::vector<double>& values, const std::string& what) {
  std::map<std::int64_t, std::pair<std::uint64_t, std::uint64_t>> bits;  // least and largest
  for (std::size_t node = 0; node < ids.size(); ++node) {
    const auto mine = std::bit_cast<std::uint64_t>(values[node]);
    auto& [least, largest] = bits.try_emplace(ids[node], mine, mine).first->second;
    least = std::min(least, mine);
    largest = std::max(largest, mine);
  }
  for (const std::int64_t id : Ids(ids)) {
    if (id == 0) continue;
    EXPECT_EQ(bits[id].first, bits[id].second) << what << ", id " << id;
  }
}

TEST_P(EveryMethod, GivesAllRanksTheSameBits) {
  const auto all_ids = random_ids(ranks);
  const Sharing sharing = discover(all_ids[me], world());
  const auto lists = make_lists(sharing, surroundings());
  std::mt19937_64 random(static_cast<std::uint64_t>(rank));
  for (const Method method : {Method::pairwise, Method::neighbor, Method::crystal_router}) {
    const bool agrees = method != Method::crystal_router || std::has_single_bit(static_cast<unsigned>(ranks));
    for (const DataType wire : {DataType::f64, DataType::f32}) {
      const Kind kind{.wire = wire};
      if (!agrees || !unfit(method, sharing, kind, surroundings()).empty()) continue;
      std::vector<double> values(all_ids[me].size());
      for (double& one : values) one = std::uniform_real_distribution(-1.0, 1.0)(random);
      const auto data = written(values, kind.type);
      const auto operation = make(method, lists, kind, surroundings());
      operation->apply(data.data(), *stream);
      values = read(data, kind.type);
      std::string mine(values.size() * sizeof(double), '\0');
      if (!mine.empty()) std::memcpy(mine.data(), values.data(), mine.size());
      Ids ids;
      std::vector<double> everybodys;
      const auto gathered = world().gather(mine);
      for (std::size_t other = 0; other < gathered.size(); ++other) {
        const std::size_t before = everybodys.size();
        everybodys.resize(before + all_ids[other].size());
        if (!gathered[other].empty()) std::memcpy(&everybodys[before], gathered[other].data(), gathered[other].size());
        ids.insert(ids.end(), all_ids[other].begin(), all_ids[other].end());
      }
      expect_equal_bits(ids, everybodys, std::string(name(method)) + " sent as " + std::string(commlens::name(wire)));
    }
  }
}

TEST_P(EveryMethod, TimesItself) {
  const auto ids = random_ids(ranks);
  const Sharing sharing = discover(ids[me], world());
  const auto lists = make_lists(sharing, surroundings());
  const Kind kind;
  for (const Method method : methods) {
    if (!unfit(method, sharing, kind, surroundings()).empty()) continue;
    const auto operation = make(method, lists, kind, surroundings());
    const auto data = written(inputs(ids, kind)[me], kind.type);
    const Timing timing = time_of(*operation, method, data.data(), sharing, kind, surroundings());
    EXPECT_EQ(timing.method, method);
    EXPECT_GT(timing.seconds.least, 0);
    EXPECT_LE(timing.seconds.least, timing.seconds.average * 1.000001);
    EXPECT_LE(timing.seconds.average, timing.seconds.largest * 1.000001);
    EXPECT_EQ(timing.bidirectional_GBps > 0, ranks > 1);
  }
  const Choice choice = choose_on_host(sharing, surroundings());
  if (!transport->takes_host_memory()) return;
  ASSERT_EQ(choice.timings.size(), 3U);
  for (const Timing& timing : choice.timings) {
    EXPECT_LE(choice.timings[choice.used].seconds.largest, timing.seconds.largest);
  }
}

TEST_P(EveryMethod, SaysWhyItIsUnfit) {
  Sharing sharing;
  sharing.labels_shared = longest_all_reduce;
  EXPECT_EQ(unfit(Method::all_reduce, sharing, {}, surroundings()),
            "100000 ids are shared; it is tried for fewer than 100000");
  EXPECT_EQ(unfit(Method::pairwise, sharing, {.type = DataType::i32}, surroundings()), "data of i32 sent as f64");
  EXPECT_EQ(unfit(Method::pairwise, sharing, {.type = DataType::f32}, surroundings()), "data of f32 sent as f64");
  EXPECT_EQ(unfit(Method::host, sharing, {}, surroundings()).empty(),
            device::on_gpu(GetParam().memory) && transport->takes_host_memory());
  const auto lists = make_lists(sharing, surroundings());
  EXPECT_THROW(make(Method::all_reduce, lists, {}, surroundings()), Error);
}

const auto places =
    testing::Values(Place{"mpi", Memory::host}, Place{"mpi", Memory::device}, Place{"mpi", Memory::managed},
                    Place{"staged", Memory::host}, Place{"staged", Memory::device}, Place{"ccl", Memory::device});
const auto place_name = [](const auto& info) {
  return info.param.transport + "_" + std::string(device::name(info.param.memory));
};
INSTANTIATE_TEST_SUITE_P(Places, EveryMethod, places, place_name);

/// Of every id, by rank.
using Nodes = std::map<std::int64_t, std::map<int, std::vector<std::uint32_t>>>;

Nodes nodes_of(const std::vector<Ids>& all) {
  Nodes nodes;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    for (std::size_t node = 0; node < all[rank].size(); ++node) {
      nodes[all[rank][node]][static_cast<int>(rank)].push_back(static_cast<std::uint32_t>(node));
    }
  }
  nodes.erase(0);
  return nodes;
}

/// This rank's groups of one sort, by id.
Groups groups_of(const Nodes& nodes, bool shared) {
  Groups groups;
  for (const auto& [id, by_rank] : nodes) {
    const auto mine = by_rank.find(world().rank());
    if (mine == by_rank.end() || (by_rank.size() > 1) != shared) continue;
    if (!shared && mine->second.size() == 1) continue;
    groups.ids.push_back(id);
    groups.nodes.insert(groups.nodes.end(), mine->second.begin(), mine->second.end());
    groups.first.push_back(static_cast<std::uint32_t>(groups.nodes.size()));
  }
  return groups;
}

TEST(Sharing, IsWhatTheIdsSay) {
  for (const Case& one : cases) {
    const auto all = one.ids(world().size());
    const Nodes nodes = nodes_of(all);
    const Ids& mine = all[static_cast<std::size_t>(world().rank())];
    const Sharing sharing = discover(mine, world());
    EXPECT_EQ(sharing.nodes, mine.size());
    const auto expect_equal = [&](const Groups& found, const Groups& right) {
      EXPECT_EQ(found.ids, right.ids) << one.name;
      EXPECT_EQ(found.first, right.first) << one.name;
      EXPECT_EQ(found.nodes, right.nodes) << one.name;
    };
    expect_equal(sharing.local, groups_of(nodes, false));
    expect_equal(sharing.shared, groups_of(nodes, true));
    std::uint64_t labels = 0;
    std::map<int, Ids> of_peer;
    for (const auto& [id, by_rank] : nodes) {
      labels += by_rank.size() > 1 ? 1 : 0;
      for (const auto& [rank, theirs] : by_rank) {
        if (rank != world().rank() && by_rank.contains(world().rank())) of_peer[rank].push_back(id);
      }
    }
    EXPECT_EQ(sharing.labels_shared, labels) << one.name;
    std::map<int, Ids> found;
    for (const auto& peer : sharing.peers) {
      for (const std::uint32_t group : peer.groups) found[peer.rank].push_back(sharing.shared.ids.at(group));
    }
    EXPECT_EQ(found, of_peer) << one.name;
  }
}

TEST(Sharing, NumbersSharedIdsAlikeOnAllRanks) {
  const auto all = random_ids(world().size());
  const Sharing sharing = discover(all[static_cast<std::size_t>(world().rank())], world());
  std::vector<double> ids(sharing.labels_shared, -std::numeric_limits<double>::max());
  ASSERT_EQ(sharing.labels.size(), sharing.shared.size());
  for (std::size_t group = 0; group < sharing.shared.size(); ++group) {
    ASSERT_LT(sharing.labels[group], sharing.labels_shared);
    ids[sharing.labels[group]] = static_cast<double>(sharing.shared.ids[group]);
  }
  world().maximum(ids);
  for (std::size_t group = 0; group < sharing.shared.size(); ++group) {
    EXPECT_EQ(ids[sharing.labels[group]], static_cast<double>(sharing.shared.ids[group]));
  }
  EXPECT_EQ(std::count(ids.begin(), ids.end(), -std::numeric_limits<double>::max()), 0) << "numbers without an id";
}

/// Blocks of 141^3 points, of a lattice of 281^3: 40^3 elements of order 7, without their inner copies.
Ids block_of_lattice(int rank) {
  constexpr std::int64_t points = 141;
  constexpr std::int64_t all = 281;
  const std::array<std::int64_t, 3> first{140 * (rank % 2), 140 * (rank / 2 % 2), 140 * (rank / 4)};
  Ids ids;
  ids.reserve(points * points * points);
  for (std::int64_t z = first[2]; z < first[2] + points; ++z) {
    for (std::int64_t y = first[1]; y < first[1] + points; ++y) {
      for (std::int64_t x = first[0]; x < first[0] + points; ++x) ids.push_back(1 + x + all * (y + all * z));
    }
  }
  return ids;
}

TEST(Seed, PrintsItsCounts) {
  if (world().size() != 8) GTEST_SKIP() << "needs 8 ranks";
  const Ids ids = block_of_lattice(world().rank());
  const Sharing sharing = discover(ids, world());
  EXPECT_EQ(sharing.labels_shared, 236'041U);
  EXPECT_EQ(sharing.sent(), 60'067U);
  const auto device = device::open_host();
  const auto stream = device->stream(Memory::host);
  const auto allocate = [&](std::size_t bytes) { return device->allocate(Memory::host, bytes); };
  const auto transport = transport::kinds().at(0).make({world(), *device, Memory::host, ""});
  const Surroundings surroundings{.communicator = world(),
                                  .transport = *transport,
                                  .device = *device,
                                  .memory = Memory::host,
                                  .stream = *stream,
                                  .allocate = allocate,
                                  .allocate_staging = allocate};
  const auto pairwise = make(Method::pairwise, make_lists(sharing, surroundings), {}, surroundings);
  const Choice choice{
      .timings = {{.method = Method::pairwise, .seconds = {8.91632e-05, 8.67524e-05, 9.06878e-05}},
                  {.method = Method::crystal_router, .seconds = {0.0003700384, 0.0003696521, 0.000370557}},
                  {.method = Method::all_reduce, .unfit = "too long"}}};
  const auto lines = setup_lines(sharing, choice, 0.54103, 27'568'660, pairwise->buffer_bytes(), world());
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "gs_setup: 236041 unique labels shared",
                       "   pairwise times (avg, min, max): 8.91632e-05 8.67524e-05 9.06878e-05",
                       "   crystal router                : 0.000370038 0.000369652 0.000370557",
                       "   used all_to_all method: pairwise",
                       "   handle bytes (avg, min, max): 2.75687e+07 27568660 27568660",
                       "   buffer bytes (avg, min, max): 961072 961072 961072",
                       "   setupds time 5.4103E-01 seconds",
                       " nMessages   max/min/avg: 7 7 7.00",
                       " msgSize     max/min/avg: 19881 1 8581.00",
                       " msgSizeSum  max/min/avg: 60067 60067 60067.00",
                   }));
}

TEST(Choice, NamesConfigurationsAsNekrsDoes) {
  EXPECT_EQ(configuration(Method::pairwise, "mpi", Memory::device), "pairwise+device");
  EXPECT_EQ(configuration(Method::neighbor, "staged", Memory::device), "neighbor+hybrid");
  EXPECT_EQ(configuration(Method::pairwise, "ccl", Memory::managed), "ccl+device");
  EXPECT_EQ(configuration(Method::crystal_router, "mpi", Memory::host), "crystal-router+host");
  const Timing timing{.exchange = {4.39e-05, 4.15e-05, 4.68e-05}, .bidirectional_GBps = 10.94};
  EXPECT_EQ(describe(timing, "pairwise+device"),
            "pairwise+device (MPI min/max/avg: 4.15e-05s 4.68e-05s 4.39e-05s / avg bi-bw: 10.9GB/s/rank)");
}

}  // namespace
}  // namespace commlens::gather_scatter
