#include "benchmarks/gather_scatter/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/error.hpp"
#include "sem/partition.hpp"
#include "sem/poisson.hpp"

namespace commlens {

namespace {

constexpr std::size_t default_nodes = 100'003;  // a prime: a multiple of nothing

constexpr double most_nodes = 4294967295;  // of a rank: lists number them in 32 bits

/// On the host, per node: global ids, what is known of them, and the lists that are sorted to find who shares them.
constexpr double set_up_bytes = 90;

/// Per node, about: the lists that memory_estimate() asks the library about.
constexpr double bytes_of_lists = 6;

/// Values that a rank sends at most. It has no more random ids than nodes, nor than there are on all ranks, where they
/// have 1, 2 … copies in turn; and an id is on no more other ranks than there are, nor than it has further copies.
double random_values_sent(double nodes, double multiplicity, double ranks) {
  const double ids_of_all = 2 * ranks * nodes / (multiplicity + 1) + multiplicity;
  return std::min(nodes, ids_of_all) * (std::min(multiplicity, ranks) - 1);
}

}  // namespace

void GatherScatterOptions::describe(OptionSet& options) {
  mesh.describe(options);
  options.add("ids", ids, "global ids: those of a mesh's nodes, or random numbers of 64 bits");
  describe_random_ids(options);
  options.add("fields", fields, "values per node: 1 or 3");
  options.add("dtype", type, "type of a value");
  options.add("exchange-dtype", exchange_type, "type of the values in messages: that of --dtype, or f32")
      .shown_as([this] { return std::string(name(exchange_type.value_or(type))); });
  options.add("combine", combine, "how the values of nodes with the same global id are combined");
  options.add(
      "mode", mode, "all",
      "how values are exchanged: one message per neighbor, the same in one MPI call, ceil(log2 ranks) messages, "
      "one reduction of all shared ids, or over the host");
  options.add_flag("overlap", "no-overlap", overlap,
                   "hide the messages behind bp5's operator on the elements that touch no other rank");
  options.add_timeline(timeline);
}

void GatherScatterOptions::describe_random_ids(OptionSet& options) {
  const auto add = [&](const std::string& name, std::size_t& value, std::size_t otherwise,
                       const std::string& help) -> Option& {
    return options.add(name, value, help)
        .shown_as([&value, otherwise] {
          return value > 0 ? std::to_string(value) : fmt::format("{} with --ids random", otherwise);
        })
        .recorded_as([this, &value]() -> std::optional<measure::Value> {
          if (on_mesh()) return std::nullopt;
          return static_cast<std::int64_t>(value);
        });
  };
  add("nodes", nodes, default_nodes, "of --ids random: nodes per rank").sets_the_size().per_rank();
  add("multiplicity", multiplicity, most_random_copies, "of --ids random: most nodes with one id, up to 100");
}

void GatherScatterOptions::refuse_options_of_the_other_ids() const {
  if (on_mesh()) {
    const std::string fix = "nodes of a mesh are those of its elements: add --ids random";
    if (nodes > 0) throw UsageError("nodes", std::to_string(nodes), fix);
    if (multiplicity > 0) throw UsageError("multiplicity", std::to_string(multiplicity), fix);
    return;
  }
  if (mesh.given()) throw UsageError("elements", mesh.text(), "random ids have no elements: give --nodes");
  if (overlap) throw UsageError("--overlap: random ids have no elements to work on: leave --ids random out");
}

void GatherScatterOptions::resolve(int ranks) {
  refuse_options_of_the_other_ids();
  if (!exchange_type) exchange_type = type;
  if (*exchange_type != type && *exchange_type != RealType::f32) {
    throw UsageError("exchange-dtype", std::string(name(*exchange_type)),
                     fmt::format("values of {} are sent as they are: leave it out, or write f32", name(type)));
  }
  if (fields != 1 && fields != 3) throw UsageError("fields", std::to_string(fields), "write 1 or 3");
  if (on_mesh()) {
    mesh.resolve(ranks);
    return;
  }
  mesh.in_use = false;
  if (nodes == 0) nodes = default_nodes;
  if (multiplicity == 0) multiplicity = most_random_copies;
  if (multiplicity > most_random_copies) {
    throw UsageError("multiplicity", std::to_string(multiplicity),
                     fmt::format("write at most {}: what more nodes combine to cannot be compared to the last bit",
                                 most_random_copies));
  }
}

gather_scatter::ValueKind GatherScatterOptions::kind() const {
  return {.type = data_type(type),
          .exchange_type = data_type(exchange_type.value_or(type)),
          .fields = fields,
          .combine = combine};
}

double GatherScatterOptions::nodes_about(int ranks) const {
  return on_mesh() ? mesh.nodes_about(ranks) : static_cast<double>(nodes);
}

/// The values, what is known of them, and two vectors of the overlapped operator.
MemoryEstimate GatherScatterOptions::per_node() const {
  const std::size_t value = fields * size_of(data_type(type));
  return {.buffers = static_cast<double>(value + sizeof(IdCopy) + (overlap ? 2 * sizeof(double) : 0)),
          .staging = set_up_bytes};
}

/// Refuses a mesh whose lists alone are larger than the machine, before it is made.
std::vector<std::string> GatherScatterOptions::scale_to_memory(const MemoryBudget& budget, int ranks) {
  on_gpu = budget.on_gpu;
  MemoryEstimate needed = per_node();
  needed.buffers += bytes_of_lists;
  require_room({.option = on_mesh() ? "elements" : "nodes",
                .value = on_mesh() ? mesh.text() : std::to_string(nodes),
                .nodes = nodes_about(ranks),
                .per_node = needed,
                .limit = most_nodes},
               budget, [&](double possible) {
                 return on_mesh() ? mesh.largest_cube(possible, ranks)
                                  : fmt::format("at most {:.0f} nodes fit", possible);
               });
  return {};
}

MemoryEstimate GatherScatterOptions::memory_estimate(int rank, int ranks) const {
  const gather_scatter::ValueKind values = kind();
  double elements = 0;
  auto here = static_cast<double>(nodes);
  double sent = 0;
  if (on_mesh()) {
    const sem::Partition partition = mesh.partition(ranks);
    elements = static_cast<double>(partition.count(rank));
    here = elements * std::pow(mesh.shape.order + 1, 3);
    sent = sem::values_sent(partition, mesh.shape.order);
  } else {
    sent = random_values_sent(here, static_cast<double>(multiplicity), ranks);
  }
  const auto exchange = gather_scatter::upper_bytes({.nodes = here, .sent = sent, .ranks = ranks}, values);
  const double of_operator =
      overlap ? sem::upper_bytes({.elements = elements, .nodes = here}, sem::Geometry::trilinear, sem::Storage::element)
              : 0;
  return {.buffers = here * per_node().buffers + exchange.buffers + of_operator,
          .staging = on_gpu ? exchange.staging : 0,
          .operation = 2 * sent * static_cast<double>(fields * size_of(values.exchange_type))};
}

}  // namespace commlens
