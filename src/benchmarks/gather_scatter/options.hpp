// The options of gather-scatter.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/gather_scatter/global_ids.hpp"
#include "benchmarks/spectral_elements/kershaw_options.hpp"
#include "device/data_type.hpp"
#include "gather_scatter/gather_scatter.hpp"
#include "harness/memory_plan.hpp"
#include "harness/options.hpp"

namespace commlens {

/// Where global ids come from.
enum class IdSource { mesh, random };
ENUM_NAMES(IdSource, {mesh, "mesh"}, {random, "random"});

struct GatherScatterOptions {
  KershawOptions mesh;
  IdSource ids = IdSource::mesh;
  std::size_t nodes = 0;         ///< 0: not given
  std::size_t multiplicity = 0;  ///< likewise
  std::size_t fields = 1;
  RealType type = RealType::f64;
  std::optional<RealType> exchange_type;  ///< none: `type`
  gather_scatter::Combine combine = gather_scatter::Combine::add;
  Choices<gather_scatter::Method> mode;
  bool overlap = false;
  std::string timeline;
  bool on_gpu = false;  ///< set by scale_to_memory()

  void describe(OptionSet& options);
  void resolve(int ranks);
  std::vector<std::string> scale_to_memory(const MemoryBudget& budget, int ranks);
  [[nodiscard]] MemoryEstimate memory_estimate(int rank, int ranks) const;

  [[nodiscard]] bool on_mesh() const { return ids == IdSource::mesh; }
  [[nodiscard]] gather_scatter::ValueKind kind() const;
  /// The most nodes of all ranks that have one global id.
  [[nodiscard]] std::size_t most_copies() const { return on_mesh() ? most_copies_in_mesh : multiplicity; }
  /// On the rank with the most, about.
  [[nodiscard]] double nodes_about(int ranks) const;

 private:
  void describe_random_ids(OptionSet& options);
  void refuse_options_of_the_other_ids() const;
  [[nodiscard]] MemoryEstimate per_node() const;
};

}  // namespace commlens
