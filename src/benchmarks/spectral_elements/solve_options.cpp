#include "benchmarks/spectral_elements/solve_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"

namespace commlens {

namespace {

using gather_scatter::Method;

constexpr const char* automatic = "auto";

std::optional<Method> parse(const std::string& text) {
  if (text == automatic) return std::nullopt;
  if (const auto method = from_name<Method>(text)) return method;
  throw UsageError("mode", text.empty() ? "''" : text,
                   fmt::format("write {} or {}", automatic, fmt::join(all_names<Method>(), " or ")));
}

}  // namespace

void ExchangeMode::describe(OptionSet& options) {
  options.add_text(
      "mode", [this](const std::string& text) { method = parse(text); }, [this] { return name(); },
      fmt::format("of the gather-scatter; {} times all modes and uses the fastest ({}, {})", automatic, automatic,
                  fmt::join(all_names<Method>(), ", ")));
}

std::string ExchangeMode::name() const { return method ? std::string(commlens::name(*method)) : automatic; }

void ExchangeMode::refuse(const std::string& reason) const {
  throw Unsupported(fmt::format("--mode {}: {}; --mode {} takes what there is", name(), reason, automatic));
}

void SolveOptions::describe_mesh(OptionSet& options) {
  mesh.describe(options);
  options.add("geometry", geometry, "metric terms: read, six per node, or computed from an element's 8 vertices");
}

void SolveOptions::describe_right_hand_side(OptionSet& options) {
  options.add("rhs", rhs, "right-hand side: nekRS's; or one whose solution is known, with its error");
}

void SolveOptions::describe_exchange(OptionSet& options) {
  mode.describe(options);
  options.add_flag("overlap", "no-overlap", overlap,
                   "compute the elements inside a rank while shared nodes travel, or all elements first");
  options.add_flag("graphs", "no-graphs", graphs,
                   "launch iterations as graphs where nothing in them waits on the host, or kernel by kernel");
}

}  // namespace commlens
