#include "sem/function_space.hpp"

#include <algorithm>
#include <utility>

#include "device/upload.hpp"

namespace commlens::sem {

namespace gs = gather_scatter;

namespace {

/// The first node that has an unknown writes it.
std::vector<std::uint32_t> writers_of(const Numbering& numbering) {
  std::vector<bool> written(numbering.unknowns, false);
  std::vector<std::uint32_t> writers;
  writers.reserve(numbering.of_node.size());
  for (const std::uint32_t unknown : numbering.of_node) {
    const std::uint32_t place = unknown & ~Numbering::by_several;
    const bool writes = unknown != Numbering::fixed && !written[place];
    if (writes) written[place] = true;
    writers.push_back(writes ? place : Numbering::fixed);
  }
  return writers;
}

}  // namespace

FunctionSpace::FunctionSpace(Mesh mesh, const Context& context)
    : mesh_(std::move(mesh)),
      numbering_(number(mesh_.ids(), mesh_.on_boundary(), context.communicator)),
      lists_(gs::make_lists(numbering_.sharing, context)),
      unknowns_(device::upload(numbering_.of_node, context.allocate, context.stream)),
      writers_(device::upload(writers_of(numbering_), context.allocate, context.stream)) {
  weigh(context);
}

std::vector<double> FunctionSpace::from_nodes(const std::vector<double>& nodal) const {
  std::vector<double> vector(length());
  numbering_.for_each_unknown([&](std::size_t node, std::uint32_t unknown) { vector[unknown] += nodal[node]; });
  return vector;
}

void FunctionSpace::weigh(const Context& context) {
  const std::vector<double> counts = from_nodes(std::vector<double>(mesh_.nodes(), 1.0));
  std::vector<float> weights(counts.begin(), counts.end());
  const auto invert = [](float count) { return 1 / count; };
  weights_ = device::upload(weights, context.allocate, context.stream);
  const gs::ValueKind kind{.type = DataType::f32, .exchange_type = DataType::f32};
  const auto sum = gs::make(gs::Method::pairwise, lists_, kind, context);
  sum->apply(weights_.data(), context.stream);
  weights = device::download(weights_.as<float>(), length(), context.stream);
  std::transform(weights.begin(), weights.end(), weights.begin(), invert);
  device::upload(weights, weights_.data(), context.stream);
}

}  // namespace commlens::sem
