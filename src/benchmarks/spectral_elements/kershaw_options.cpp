#include "benchmarks/spectral_elements/kershaw_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "sem/numbering.hpp"

namespace commlens {

namespace {

int parse_order(const std::string& text) {
  const std::string fix = fmt::format("write a whole number from 1 to {}", sem::highest_order);
  const double order = parse_number("order", text, {.least = 1, .most = sem::highest_order, .fix = fix});
  if (order != std::floor(order)) throw UsageError("order", text, fix);
  return static_cast<int>(order);
}

double volume(const sem::Extents& extents) {
  return static_cast<double>(extents[0]) * static_cast<double>(extents[1]) * static_cast<double>(extents[2]);
}

double nodes_that_fit(const MemoryEstimate& per_node, const MemoryBudget& budget) {
  if (!budget.on_gpu) return budget.host / (per_node.buffers + per_node.staging);
  return std::min(budget.buffers / per_node.buffers, budget.host / per_node.staging);
}

}  // namespace

void KershawOptions::describe(OptionSet& options) {
  const auto if_in_use = [this](bool condition, measure::Value value) -> std::optional<measure::Value> {
    if (!in_use || !condition) return std::nullopt;
    return value;
  };
  options
      .add_text(
          "elements", [this](const std::string& text) { shape.elements = parse_box("elements", text, "elements"); },
          [this] { return given() ? text() : std::string("20^3 per rank: 40,40,40 for 8"); },
          "elements in x, y and z: 40 for a cube, or 40,40,20")
      .recorded_as([this, if_in_use] { return if_in_use(sized_by_elements, text()); })
      .role(sized_by_elements ? measure::Role::setting : measure::Role::derived)
      .sets_the_size();
  options
      .add_text(
          "order", [this](const std::string& text) { shape.order = parse_order(text); },
          [this] { return std::to_string(shape.order); }, "polynomial order of an element, 1 to 15")
      .recorded_as([this, if_in_use] { return if_in_use(true, static_cast<std::int64_t>(shape.order)); });
  constexpr double least = 1e-6;  // below, elements have hardly any volume
  options
      .add("kershaw-eps", shape.eps,
           {.least = least, .most = 1, .fix = "write a number from 1e-6, such as 0.3, to 1, which deforms nothing"},
           "deformation of the mesh: 1 is none, towards 0 ever more")
      .recorded_as([this, if_in_use] { return if_in_use(true, shape.eps); });
}

void KershawOptions::resolve(int ranks) {
  if (!given()) {
    constexpr std::size_t per_rank = 20;
    shape.elements = with_edge(per_rank, ranks).shape.elements;
  }
  if (volume(shape.elements) >= ranks) return;
  throw UsageError(
      "elements", text(),
      fmt::format("fewer than the {} ranks: ask for at least one element per rank, or start fewer ranks", ranks));
}

KershawOptions KershawOptions::with_edge(std::size_t edge, int ranks) const {
  KershawOptions other = *this;
  const sem::Extents factors = sem::most_cubic(static_cast<std::size_t>(ranks), {1, 1, 1});
  for (std::size_t axis = 0; axis < 3; ++axis) other.shape.elements[axis] = edge * factors[axis];
  return other;
}

double KershawOptions::nodes_about(int ranks) const {
  return std::ceil(volume(shape.elements) / ranks) * std::pow(shape.order + 1, 3);
}

std::string KershawOptions::text() const { return box_text(shape.elements); }

std::string KershawOptions::largest_cube(double nodes_per_rank, int ranks) const {
  const double elements = std::floor(nodes_per_rank / std::pow(shape.order + 1, 3)) * ranks;
  return fmt::format("the largest cube of order {} is about --elements {:.0f}", shape.order,
                     std::floor(std::cbrt(elements)));
}

std::size_t KershawOptions::largest_edge(double nodes_per_rank) const {
  return static_cast<std::size_t>(std::cbrt(nodes_per_rank) / (shape.order + 1));
}

void require_room(const NodeRequest& request, const MemoryBudget& budget,
                  const std::function<std::string(double nodes)>& fix) {
  const double fitting = nodes_that_fit(request.per_node, budget);
  if (request.nodes > fitting) {
    refuse_for_memory(
        request.option, request.value,
        {.buffers = request.nodes * request.per_node.buffers, .staging = request.nodes * request.per_node.staging},
        budget, fix(std::min(fitting, request.limit)));
  }
  if (request.nodes <= request.limit) return;
  throw UsageError(request.option, request.value,
                   fmt::format("{:.0f} nodes per rank, of which at most {:.0f} can be numbered; {}", request.nodes,
                               request.limit, fix(request.limit)));
}

void SizedMesh::describe(OptionSet& options) {
  kershaw.describe(options);
  options
      .add("edge", edge,
           "instead of --elements: elements along each edge of a rank's cube; one or several, such as 4:32")
      .per_rank();
}

void SizedMesh::resolve(int ranks) {
  if (!edge.empty() && kershaw.given()) {
    throw UsageError("edge", std::to_string(edge.values.front()),
                     "--elements gives the size, too: leave one of the two out");
  }
  kershaw.sized_by_elements = edge.empty();
  kershaw.resolve(ranks);
}

KershawOptions SizedMesh::largest(int ranks) const {
  return edge.empty() ? kershaw : kershaw.with_edge(edge.largest(), ranks);
}

void SizedMesh::require_room(const MemoryEstimate& per_node, const MemoryBudget& budget, int ranks) const {
  commlens::require_room({.option = edge.empty() ? "elements" : "edge",
                          .value = edge.empty() ? kershaw.text() : std::to_string(edge.largest()),
                          .nodes = largest(ranks).nodes_about(ranks),
                          .per_node = per_node,
                          .limit = sem::Numbering::most_unknowns},
                         budget, [&](double possible) {
                           if (edge.empty()) return kershaw.largest_cube(possible, ranks);
                           return fmt::format("the largest is about --edge {}", kershaw.largest_edge(possible));
                         });
}

}  // namespace commlens
