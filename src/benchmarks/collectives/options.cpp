#include "benchmarks/collectives/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/parse.hpp"

namespace commlens::collectives {

namespace {

constexpr std::size_t most_dimensions = 3;

std::string text_of(const std::vector<int>& extents) { return fmt::format("{}", fmt::join(extents, "x")); }

/// Of an option that the record has only where it is given.
template <NamedEnum Enum>
Option::Text usual(const std::optional<Enum>& value, Enum without) {
  return [&value, without] { return std::string(name(value.value_or(without))); };
}

}  // namespace

CollectiveOptions::CollectiveOptions(const OperationDescription& of)
    : operation(&of), type(of.reduces ? DataType::f64 : DataType::u8), in_place(of.is_in_place) {}

bool CollectiveOptions::has_blocks() const {
  const Shape of_two{.ranks = 2, .count = 1};
  return std::max(operation->input(of_two), operation->output(of_two)) > 1;
}

/// DFT-FE's array; other operations begin with a sweep.
std::size_t CollectiveOptions::default_count() const {
  return operation->operation == Operation::allreduce ? 10'000'000 : 0;
}

void CollectiveOptions::describe(OptionSet& options) {
  if (has_data()) describe_sizes(options);
  if (operation->in_place != nullptr) {
    options.add_flag("in-place", "out-of-place", in_place, "one buffer for input and output, or two");
  }
  if (operation->reduces) {
    options.add("reduction", reduction, "how elements are combined").shown_as(usual(reduction, Reduction::sum));
  }
  if (operation->rooted) {
    options.add("root", root, "the rank that sends to, or receives from, all others").parse =
        [this](const std::string& text) { root = parse_count("root", text); };
  }
  if (operation->has_counts) {
    options.add("counts", counts, "elements of each rank's block").shown_as(usual(counts, Counts::equal));
  }
  if (operation->of_neighbors) describe_grid(options);
  options.add("call", call, "MPI_X, MPI_Ix and MPI_Wait, or MPI_X_init, MPI_Start and MPI_Wait")
      .shown_as(usual(call, CallMode::blocking));
  options.add("compute", compute, "computation between the call and its wait, as long as the operation takes alone")
      .shown_as([this] { return compute ? std::string(name(*compute)) : "none"; });
}

void CollectiveOptions::describe_sizes(OptionSet& options) {
  const std::string what = has_blocks() || operation->of_neighbors ? "block" : "array";
  auto& counted = options.add("count", count, "elements of the " + what + " (where --bytes is not given)");
  counted.role(measure::Role::derived)
      .shown_as([this] {
        const std::size_t shown = count > 0 ? count : default_count();
        return shown > 0 ? std::to_string(shown) : std::string("by --bytes");
      })
      .recorded_as([this] { return static_cast<std::int64_t>(shape(0, 1).count); });
  if (sized_by_count_) counted.sets_the_size();
  auto& sizes = options.add("bytes", bytes, "size or sizes of the " + what + ": 80M, 8:1G (times 2), 8:1G:x8");
  if (default_count() == 0) {
    sizes.shown_as([this, text = sizes.text] { return bytes.empty() ? "an element to 1M, times 2" : text(); });
  }
  if (has_blocks()) {
    options
        .add("size-of", size_of_what,
             "what --bytes and --count are the size of: the block of one rank, or all blocks together")
        .recorded_as([] { return std::nullopt; });
  }
  options.add("dtype", type, "type of an element");
}

void CollectiveOptions::describe_grid(OptionSet& options) {
  options.add("dimensions", dimensions, "of the grid of ranks: 1, 2 or 3 (where --grid-of-ranks is not given)")
      .shown_as([this] { return dimensions > 0 ? std::to_string(dimensions) : "2, or those of --grid-of-ranks"; })
      .recorded_as([this] { return static_cast<std::int64_t>(dimensions); });
  options
      .add_text(
          "grid-of-ranks", [this](const std::string& text) { grid_of_ranks = text; },
          [this] { return grid_of_ranks.empty() ? "as equal as possible" : grid_of_ranks; },
          "ranks in each dimension: 6, 2x3 or 1x2x3")
      .recorded_as([this] { return text_of(grid.extents); })
      .role(grid_of_ranks.empty() ? measure::Role::derived : measure::Role::setting);
  options.add_flag("periodic", "non-periodic", grid.periodic,
                   "whether the first and the last rank of a dimension are neighbors");
}

void CollectiveOptions::resolve(int ranks) {
  if (root >= static_cast<std::size_t>(std::max(ranks, 1)) && root > 0) {
    throw UsageError("root", std::to_string(root), fmt::format("there are {} ranks, from 0 on", ranks));
  }
  if (reduction && transport::is_of_bits(*reduction) && !is_integer(type)) {
    throw UsageError("reduction", std::string(name(*reduction)),
                     fmt::format("it is of integers, not of {}: use --dtype i32", name(type)));
  }
  if (compute && call.value_or(CallMode::blocking) == CallMode::blocking) {
    throw UsageError("compute", std::string(name(*compute)),
                     "a blocking call leaves no time for it: use --call nonblocking");
  }
  const bool keeps_input = operation->repeats_in_place != transport::RepeatsInPlace::never &&
                           (!operation->reduces || is_idempotent(reduction.value_or(Reduction::sum)));
  if (compute && in_place && !keeps_input) {
    throw UsageError("compute", std::string(name(*compute)),
                     "its operations have one input, which each of them overwrites in place: add --out-of-place");
  }
  if (operation->of_neighbors) resolve_grid(std::max(ranks, 1));
  if (has_data()) resolve_sizes(ranks);
}

void CollectiveOptions::resolve_grid(int ranks) {
  if (dimensions > most_dimensions) throw UsageError("dimensions", std::to_string(dimensions), "write 1, 2 or 3");
  if (grid_of_ranks.empty()) {
    if (dimensions == 0) dimensions = 2;
    grid.extents = transport::balanced_extents(ranks, dimensions);
    return;
  }
  const auto extents = parse_extents("grid-of-ranks", grid_of_ranks);
  double product = 1;
  for (const std::size_t extent : extents) product *= static_cast<double>(extent);
  if (extents.size() > most_dimensions || product != ranks) {
    const auto fitting = transport::balanced_extents(ranks, std::min(extents.size(), most_dimensions));
    throw UsageError(
        "grid-of-ranks", grid_of_ranks,
        fmt::format("write up to 3 numbers whose product is the {} ranks, such as {}", ranks, text_of(fitting)));
  }
  if (dimensions > 0 && dimensions != extents.size()) {
    throw UsageError("dimensions", std::to_string(dimensions),
                     fmt::format("--grid-of-ranks {} has {}: leave one of the two out", grid_of_ranks, extents.size()));
  }
  dimensions = extents.size();
  grid.extents.assign(extents.begin(), extents.end());
}

void CollectiveOptions::resolve_sizes(int ranks) {
  if (count > 0 && !bytes.empty()) {
    throw UsageError("count", std::to_string(count), "--bytes gives the size, too: leave one of the two out");
  }
  const std::size_t size = size_of(type);
  sized_by_count_ = bytes.empty() && (count > 0 || default_count() > 0);
  if (sized_by_count_) {
    if (count == 0) count = default_count();
    if (count > (std::size_t{1} << 60) / size) {
      throw UsageError("count", std::to_string(count),
                       fmt::format("larger than any machine; write at most {}", (std::size_t{1} << 60) / size));
    }
    bytes.values = {count * size};
  } else if (bytes.empty()) {
    bytes = Sizes(size, 1_MiB);
  }
  const bool divide = has_blocks() && size_of_what == SizeOf::array;
  const std::size_t unit = divide ? size * static_cast<std::size_t>(ranks) : size;
  for (std::size_t& value : bytes.values) {
    if (value % unit != 0 && divide) {
      if (rounded_.empty()) {
        rounded_ = fmt::format("sizes are rounded up to multiples of {} B, {} of each of the {} ranks: {} B is {} B",
                               unit, name(type), ranks, value, (value + unit - 1) / unit * unit);
      }
      value = (value + unit - 1) / unit * unit;
    }
    if (value % size != 0) {
      throw UsageError(
          "bytes", std::to_string(value),
          fmt::format("not a multiple of the {} bytes of {}; begin with --bytes {}", size, name(type), size));
    }
    if (divide) value /= static_cast<std::size_t>(ranks);
  }
  bytes.values.erase(std::unique(bytes.values.begin(), bytes.values.end()), bytes.values.end());
}

std::vector<std::string> CollectiveOptions::scale_to_memory(const MemoryBudget& /*budget*/, int /*ranks*/) const {
  return rounded_.empty() ? std::vector<std::string>{} : std::vector{rounded_};
}

Shape CollectiveOptions::shape(int rank, int ranks) const {
  return {.rank = rank,
          .ranks = ranks,
          .root = static_cast<int>(root),
          .count = has_data() ? bytes.largest() / size_of(type) : 0,
          .counts = counts.value_or(Counts::equal),
          .grid = grid};
}

std::size_t CollectiveOptions::elements_in_place(const Shape& shape) const {
  const transport::InPlaceOffsets begin = operation->in_place(shape);
  return std::max(begin.input + operation->input(shape), begin.output + operation->output(shape));
}

MemoryEstimate CollectiveOptions::memory_estimate(int rank, int ranks) const {
  const Shape of = shape(rank, ranks);
  const std::size_t elements = in_place ? elements_in_place(of) : operation->input(of) + operation->output(of);
  const auto needed = static_cast<double>(elements * size_of(type));
  return {.buffers = needed, .operation = needed};
}

}  // namespace commlens::collectives
