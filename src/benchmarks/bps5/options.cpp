#include "benchmarks/bps5/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <system_error>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "benchmarks/spectral_elements/kershaw_options.hpp"
#include "sem/partition.hpp"
#include "solvers/schwarz.hpp"

namespace commlens::bps5 {

namespace gs = gather_scatter;

namespace {

std::vector<int> parse_levels(const std::string& text) {
  const UsageError wrong(
      "levels", text,
      fmt::format("write orders that descend to 1, the first of at most {}, such as 7,3,1", sem::highest_order));
  std::vector<int> levels;
  for (const std::string& word : split(text, ',')) {
    int order = 0;
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), order);
    if (error != std::errc() || rest != word.data() + word.size()) throw wrong;
    if (order < 1 || order > sem::highest_order || (!levels.empty() && levels.back() <= order)) throw wrong;
    levels.push_back(order);
  }
  if (levels.back() != 1) throw wrong;
  return levels;
}

/// The order, half of it, and 1.
std::vector<int> levels_for(int order) {
  std::vector<int> levels{order};
  if (order / 2 > 1) levels.push_back(order / 2);
  if (order > 1) levels.push_back(1);
  return levels;
}

/// What needs memory in proportion must not make the mesh appear too large.
void refuse_above(const char* option, std::size_t value, std::size_t most, const char* example) {
  if (value <= most) return;
  throw UsageError(option, std::to_string(value),
                   fmt::format("write a number from 1 to {}, such as {}", most, example));
}

std::string text_of(const std::vector<int>& levels) { return fmt::format("{}", fmt::join(levels, ",")); }

/// On the host, per node, while the mesh is numbered; and the ids of the elements' neighbors.
constexpr double set_up_bytes = 160;

/// What an element of the finest level needs, on that level and on all coarser ones, in bytes of buffers.
double bytes_of(const Options& options, double elements, double scale) {
  double bytes = 0;
  for (const int order : options.levels) {
    const double nodes = elements * std::pow(order + 1, 3);
    const double length = scale * elements * std::pow(order, 3) + 64;
    // The operator in float takes at most what it takes in double; a smoother has 4 vectors, Arnoldi's method 12.
    bytes += sem::FunctionSpace::upper_bytes(nodes, length) +
             sem::upper_bytes({.elements = elements, .nodes = nodes}, options.geometry, sem::Storage::unique);
    bytes += 20 * sizeof(float) * length + 512.0 * 1024;
    if (order > 1) bytes += solvers::Schwarz::upper_bytes(elements, order);
  }
  const double nodes = elements * std::pow(options.levels.front() + 1, 3);
  const double length = scale * elements * std::pow(options.levels.front(), 3) + 64;
  bytes += sem::upper_bytes({.elements = elements, .nodes = nodes}, options.geometry, sem::Storage::unique);
  return bytes + solvers::Fgmres::upper_bytes(options.restart, length) + 5 * sizeof(double) * length + 512.0 * 1024;
}

/// Nodes of a rank's box, with those on its upper sides, over elements order^3: 1.2 for 8^3 elements of order 1.
double surplus(const sem::Block& block) {
  double factor = 1;
  for (const auto& [begin, end] : block) factor *= 1 + 1 / static_cast<double>(end - begin);
  return factor;
}

}  // namespace

void Options::describe(OptionSet& options) {
  describe_mesh(options);
  describe_preconditioner(options);
  describe_solve(options);
}

void Options::describe_preconditioner(OptionSet& options) {
  options.add_text(
      "levels", [this](const std::string& text) { levels = parse_levels(text); },
      [this] { return levels.empty() ? std::string("7,3,1 for order 7") : text_of(levels); },
      "orders of the multigrid's levels, from --order down to 1");
  options.add("smoother", smoother, "of the levels above 1: Chebyshev around a smoother, or one step of it");
  options.add(
      "coarse", coarse,
      "solver of the level of order 1: cg-replicated is cg by each rank for the whole mesh, which saves messages");
  options.add("coarse-steps", coarse_steps, "iterations of --coarse cg and cg-replicated").recorded_as([this] {
    return coarse != solvers::Coarse::boomeramg ? std::optional<measure::Value>(static_cast<std::int64_t>(coarse_steps))
                                                : std::nullopt;
  });
}

void Options::describe_solve(OptionSet& options) {
  describe_right_hand_side(options);
  options.add("restart", restart, "directions after which FGMRES starts again");
  options.add("iterations", iterations, "most iterations of a solve");
  options.add("tolerance", tolerance,
              {.least = 1e-15, .most = 0.5, .fix = "write a number from 1e-15 to 0.5, such as 1e-8"},
              "relative residual at which a solve ends");
  describe_exchange(options);
}

void Options::resolve(int ranks) {
  if (const std::string missing = solvers::boomeramg_missing();
      coarse == solvers::Coarse::boomeramg && !missing.empty()) {
    throw UsageError("coarse", "boomeramg", missing + "; --coarse cg needs nothing");
  }
  refuse_above("restart", restart, 1000, "30");
  refuse_above("coarse-steps", coarse_steps, 10000, "20");
  if (levels.empty()) levels = levels_for(mesh.order());
  if (levels.front() != mesh.order()) {
    throw UsageError("levels", text_of(levels),
                     fmt::format("the first must be --order, which is {}; write --levels {}", mesh.order(),
                                 text_of(levels_for(mesh.order()))));
  }
  mesh.resolve(ranks);
}

std::vector<std::string> Options::scale_to_memory(const MemoryBudget& budget, int ranks) {
  on_gpu = budget.on_gpu;
  refuse_mesh_beyond(budget, ranks);
  return {};
}

/// Refuses a mesh whose vectors alone are larger than the machine, before it is made.
void Options::refuse_mesh_beyond(const MemoryBudget& budget, int ranks) const {
  const double nodes = mesh.largest(ranks).nodes_about(ranks);
  const double elements = nodes / std::pow(mesh.order() + 1, 3);
  mesh.require_room({.buffers = bytes_of(*this, elements, 1) / nodes, .staging = set_up_bytes}, budget, ranks);
}

MemoryEstimate Options::memory_estimate(int rank, int ranks) const {
  const KershawOptions current = mesh.of_case(ranks);
  const sem::Partition partition = current.partition(ranks);
  const auto elements = static_cast<double>(partition.count(rank));
  MemoryEstimate estimate{.buffers = bytes_of(*this, elements, surplus(partition.block(rank)))};
  for (const int order : levels) {
    const double sent = sem::values_sent(partition, order);
    const double length = surplus(partition.block(rank)) * elements * std::pow(order, 3);
    const gs::Load load{.nodes = length + 2 * sent, .sent = 2 * sent, .ranks = ranks};
    const auto exchange = gs::upper_bytes(load, {.type = DataType::f64});
    if (order == 1 && coarse == solvers::Coarse::cg_replicated) {
      const double all = current.nodes_about(1) / std::pow(mesh.order() + 1, 3);
      estimate.buffers += 8 * all * sizeof(std::uint32_t) + 300 * all + 20 * sizeof(float) * 1.3 * all + 1024.0 * 1024;
    }
    // One of vectors, and one of the neighbors' nodes; on the finest level another one in double.
    const double count = order == levels.front() ? 3 : 2;
    estimate.buffers += count * exchange.buffers + 4 * sent * sizeof(float);
    estimate.staging += on_gpu ? count * exchange.staging : 0;
    if (order == 1 && coarse == solvers::Coarse::boomeramg) estimate.staging += length * sizeof(float) + 64;
    estimate.operation = std::max(estimate.operation, 2 * sent * sizeof(double));
  }
  return estimate;
}

}  // namespace commlens::bps5
