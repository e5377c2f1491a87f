#include "benchmarks/kershaw_options.hpp"

#include <charconv>
#include <cmath>

#include "benchmarks/box_option.hpp"
#include "harness/usage_error.hpp"

namespace commlens {

namespace {

int order_from(const std::string& text) {
  int order = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), order);
  if (error != std::errc{} || end != text.data() + text.size() || order < 1 || order > sem::highest_order) {
    throw UsageError("order", text.empty() ? "''" : text,
                     "write a whole number from 1 to " + std::to_string(sem::highest_order));
  }
  return order;
}

double eps_from(const std::string& text) {
  double eps = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), eps);
  constexpr double least = 1e-6;                  // below, elements have no volume to speak of
  const bool allowed = eps >= least && eps <= 1;  // which NaN is not
  if (error != std::errc{} || end != text.data() + text.size() || !allowed) {
    throw UsageError("kershaw-eps", text.empty() ? "''" : text,
                     "write a number from 1e-6, such as 0.3, to 1, which deforms nothing");
  }
  return eps;
}

std::string short_text(double number) {
  std::string text(32, ' ');
  text.resize(
      static_cast<std::size_t>(std::to_chars(text.data(), text.data() + text.size(), number).ptr - text.data()));
  return text;
}

double volume(const sem::Extents& extents) {
  return static_cast<double>(extents[0]) * static_cast<double>(extents[1]) * static_cast<double>(extents[2]);
}

}  // namespace

void KershawOptions::describe(OptionSet& options) {
  const auto if_in_use = [this](auto value) {
    return [this, value]() -> std::optional<measure::Value> {
      if (!in_use) return std::nullopt;
      return value();
    };
  };
  auto& sized = options.add_text(
      "elements", [this](const std::string& text) { shape.elements = parse_box("elements", text, "elements"); },
      [this] { return given() ? text() : std::string("20^3 a rank: 40,40,40 for 8"); },
      "elements in x, y and z: 40 for a cube, or 40,40,20");
  sized.value = [this]() -> std::optional<measure::Value> {
    if (!in_use || !fixed_size) return std::nullopt;
    return text();
  };
  sized.sizes = true;
  auto& order = options.add_text(
      "order", [this](const std::string& text) { shape.order = order_from(text); },
      [this] { return std::to_string(shape.order); }, "polynomial order of an element, 1 to 15");
  order.value = if_in_use([this] { return static_cast<std::int64_t>(shape.order); });
  auto& eps = options.add_text(
      "kershaw-eps", [this](const std::string& text) { shape.eps = eps_from(text); },
      [this] { return short_text(shape.eps); }, "deformation of the mesh: 1 is none, towards 0 ever more");
  eps.value = if_in_use([this] { return shape.eps; });
}

void KershawOptions::settle(int ranks) {
  if (!given()) {
    constexpr std::size_t a_rank = 20;
    shape.elements = with_edge(a_rank, ranks).shape.elements;
  }
  if (volume(shape.elements) >= ranks) return;
  throw UsageError(
      "elements", text_of(shape.elements),
      "fewer than the " + std::to_string(ranks) + " ranks: ask for at least an element a rank, or start fewer ranks");
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

std::string KershawOptions::text() const { return text_of(shape.elements); }

std::string KershawOptions::largest_cube(double nodes_a_rank, int ranks) const {
  const double elements = std::floor(nodes_a_rank / std::pow(shape.order + 1, 3)) * ranks;
  return "the largest cube of order " + std::to_string(shape.order) + " is about --elements " +
         std::to_string(static_cast<std::size_t>(std::cbrt(elements)));
}

std::size_t KershawOptions::largest_edge(double nodes_a_rank) const {
  return static_cast<std::size_t>(std::cbrt(nodes_a_rank) / (shape.order + 1));
}

}  // namespace commlens
