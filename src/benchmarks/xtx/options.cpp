#include "benchmarks/xtx/options.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"
#include "base/format.hpp"

namespace commlens::xtx {

namespace {

Option::Text scaled_or(const std::size_t& value) {
  return [&value] { return value == 0 ? std::string("scaled to the memory") : std::to_string(value); };
}

measure::Role role(bool scaled) { return scaled ? measure::Role::derived : measure::Role::setting; }

}  // namespace

void Options::describe(OptionSet& options) {
  options.add("dofs", dofs, "M, the rows of X: degrees of freedom over all ranks")
      .shown_as(scaled_or(dofs))
      .role(role(scaled_.dofs));
  options.add("vectors", vectors, "N, the columns of X: wavefunctions")
      .shown_as(scaled_or(vectors))
      .role(role(scaled_.vectors))
      .sets_the_size();
  auto& blocked = options.add("block", block, "B, the width of a block of S; several are measured in turn");
  blocked.shown_as([this, text = blocked.text] { return block.empty() ? "732, or a tenth of N" : text(); });
  if (scaled_.block) blocked.role(measure::Role::derived);
  options.add("dtype", dtype, "type of an element");
  options.add("depth", depth, "blocks on the device at a time; with 1 nothing overlaps");
  options.add("layout", layout,
              "columns of a block one after the other, or rows: the shape of the product in the BLAS");
  options.add("first", first, "the block to begin with: the first product and the last reduction cannot be hidden");
  options.add("priority", priority,
              "of the communication's stream on a GPU; with normal its kernels begin when the next product ends");
  options.add("numbers", numbers,
              "full: every bit in use, as in an application, after warm-up rounds of integers that are checked "
              "exactly; integers: exact throughout, but a GPU at its power limit multiplies them faster");
  options.add_flag("overlap", "no-overlap", overlap, "two streams; --no-overlap: one that does everything in turn");
  options.add_flag(
      "copy", "no-copy", copy,
      "copy each block to the host; --no-copy: leave it on the device, where the last --depth are checked");
  options.add_flag("tune", "no-tune", tune,
                   "first let the BLAS time all algorithms that it has for each shape (cuBLAS 13.1)");
  options.add_timeline(timeline);
}

void Options::resolve(int /*ranks*/) const {
  const std::size_t most = GramMatrix::most_rows(type(), numbers);
  if (dofs <= most) return;
  throw UsageError(
      "dofs", std::to_string(dofs),
      fmt::format("the sums of {} can be checked up to {} rows with --numbers {}", name(type()), most, name(numbers)));
}

Blocks Options::widest_blocks(std::size_t of_vectors) const {
  const std::size_t width = block.empty() ? default_block(of_vectors) : block.largest();
  return {of_vectors, std::min(width, of_vectors)};
}

MemoryEstimate Options::estimate(const Blocks& of, int rank, int ranks) const {
  const auto size = static_cast<double>(size_of(type()));
  const auto columns = static_cast<double>(of.vectors);
  // X, and the rows that it is made of.
  const auto rows = static_cast<double>(Share::of(dofs, rank, ranks).count + GramMatrix::kinds);
  const double largest_block = columns * static_cast<double>(of.width) * size;
  return {.buffers = rows * columns * size + static_cast<double>(slots(of)) * largest_block +
                     GramMatrix::kinds * sizeof(double),
          .staging = copy ? of.at_most() * size : 0,
          .operation = largest_block};
}

MemoryEstimate Options::memory_estimate(int rank, int ranks) const {
  return estimate({vectors, block.largest()}, rank, ranks);
}

bool Options::fits(const MemoryBudget& budget, int ranks, std::size_t with_vectors) const {
  return budget.fits(estimate(widest_blocks(with_vectors), 0, ranks));
}

/// The published case, or as much of it in both directions as half of a GPU's memory holds. On the host 64 MiB per
/// rank, which a core multiplies in about a second. What the user has given stays.
void Options::choose_size(const MemoryBudget& budget, int ranks) {
  constexpr double on_the_host = 64.0 * 1024 * 1024;
  const double bytes_per_rank = budget.on_gpu ? budget.buffers / 2 : std::min(budget.buffers / 2, on_the_host);
  const double elements = bytes_per_rank * ranks / static_cast<double>(size_of(type()));  // of X
  const double scale = std::sqrt(elements / (static_cast<double>(published_dofs) * published_vectors));
  const auto at_most = [](std::size_t limit, double wanted) {
    return static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(limit)));
  };
  scaled_.vectors = vectors == 0;
  scaled_.dofs = dofs == 0;
  if (scaled_.vectors) {
    vectors =
        at_most(published_vectors, scaled_.dofs ? published_vectors * scale : elements / static_cast<double>(dofs));
  }
  if (scaled_.dofs) {
    dofs = at_most(std::min(published_dofs, GramMatrix::most_rows(type(), numbers)),
                   scaled_.vectors ? published_dofs * scale : elements / static_cast<double>(vectors));
  }
  auto& free = scaled_.vectors ? vectors : dofs;
  while (free > 1 && !fits(budget, ranks, vectors)) free = free * 9 / 10;
}

std::vector<std::string> Options::scale_to_memory(const MemoryBudget& budget, int ranks) {
  if (dofs == 0 || vectors == 0) choose_size(budget, ranks);
  if (block.largest() > vectors) {
    throw UsageError("block", std::to_string(block.largest()),
                     fmt::format("wider than the {} columns of X: write at most that, or more --vectors", vectors));
  }
  if (!fits(budget, ranks, vectors)) refuse(budget, ranks);
  if (block.empty()) {
    scaled_.block = scaled_.vectors;  // a tenth of what follows from the memory does so too
    block.values = {default_block(vectors)};
  }
  if (!scaled_.dofs && !scaled_.vectors) return {};
  const double bytes_of_x =
      static_cast<double>(dofs) * static_cast<double>(vectors) * static_cast<double>(size_of(type()));
  return {
      fmt::format("the published case (--dofs {} --vectors {}) scaled to the memory here: --dofs {} --vectors {}{}, "
                  "{} of X on each rank",
                  published_dofs, published_vectors, dofs, vectors,
                  scaled_.block ? fmt::format(" --block {}", block.value()) : "", format_bytes(bytes_of_x / ranks))};
}

void Options::refuse(const MemoryBudget& budget, int ranks) const {
  std::size_t largest = 0;
  for (std::size_t beyond = vectors; beyond - largest > 1;) {
    const std::size_t middle = largest + (beyond - largest) / 2;
    (fits(budget, ranks, middle) ? largest : beyond) = middle;
  }
  const Blocks wanted = widest_blocks(vectors);
  const std::string narrower = largest < wanted.width ? ", and --block no wider" : "";
  const std::string fix = largest > 0 ? fmt::format("the largest that fits is --vectors {}{}", largest, narrower)
                                      : "not even one fits: ask for less of them, or start more ranks";
  refuse_for_memory("vectors", std::to_string(vectors), estimate(wanted, 0, ranks), budget,
                    fmt::format("with --dofs {} --depth {} {}", dofs, depth, fix));
}

}  // namespace commlens::xtx
