#include "benchmarks/spectral_elements/kershaw_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "base/parse.hpp"
#include "base/usage_error.hpp"

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

}  // namespace commlens
