// DFT-FE's overlap matrix: S = X^H X, where X has a row a degree of freedom, spread over the ranks, and a column a
// wavefunction (S. Das et al., "DFT-FE 1.0", arXiv 2203.07820, section on Rayleigh-Ritz).
//
// S is computed in blocks of B rows, from the diagonal on: a matrix product of this rank's rows of X, the sum of the
// products over the ranks, and a copy to the host, from where an application would fill its ScaLAPACK matrix. While
// block k is summed and copied on one stream, block k + 1 is multiplied on another.
//
//   compute        multiply 0 | multiply 1 | multiply 2 | ...
//   communication             | reduce 0, copy 0 | reduce 1, copy 1 | ...
//
// On a GPU both are its own streams, the second with the higher priority: otherwise its kernels wait until the last
// piece of the next product has begun. On the host the products run in a thread of their own, the copies in another,
// and the rank's main thread stays in MPI, which so makes progress all the time.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/known_gram.hpp"
#include "harness/benchmark.hpp"
#include "harness/tracer.hpp"
#include "harness/usage_error.hpp"

namespace commlens {
namespace {

/// The blocks of S: `width` rows from the diagonal on, or as many columns from the diagonal down. The first is the
/// longest.
struct Blocks {
  std::size_t vectors = 0;
  std::size_t width = 0;

  [[nodiscard]] std::size_t count() const { return (vectors + width - 1) / width; }
  [[nodiscard]] std::size_t first(std::size_t block) const { return block * width; }
  [[nodiscard]] std::size_t width_of(std::size_t block) const { return std::min(width, vectors - first(block)); }
  [[nodiscard]] std::size_t length(std::size_t block) const { return vectors - first(block); }
  [[nodiscard]] std::size_t elements(std::size_t block) const { return width_of(block) * length(block); }
  /// Of the blocks before this one, which are `width` wide and each `width` shorter than the one before.
  [[nodiscard]] std::size_t elements_before(std::size_t block) const {
    return block * width * vectors - width * width * (block * (block - 1) / 2);
  }
  [[nodiscard]] std::size_t elements() const { return elements_before(count() - 1) + elements(count() - 1); }
  /// The same, for a request beyond any machine: it must not wrap around.
  [[nodiscard]] double about() const {
    return 0.5 * static_cast<double>(vectors) * static_cast<double>(vectors + width);
  }
};

struct XtxOptions {
  // The case that DFT-FE published: two thirds of Summit's memory.
  static constexpr std::size_t published_dofs = 16'194'277;
  static constexpr std::size_t published_vectors = 36'600;
  static constexpr std::size_t published_block = 732;

  std::size_t dofs = 0;     ///< 0: chosen by fit()
  std::size_t vectors = 0;  ///< likewise
  Sweep block;              ///< likewise where there are no values
  DataType type = DataType::f64;
  std::size_t depth = 2;
  std::string layout = "tall";
  std::string first = "largest";
  std::string priority = "high";
  std::string numbers = "full";
  bool overlap = true;
  bool copy = true;
  bool tune = false;
  std::string trace;

  void describe(OptionSet& options);
  void settle(int ranks) const;
  [[nodiscard]] std::vector<std::string> fit(const Room& room, int ranks);
  [[nodiscard]] Footprint footprint(int rank, int ranks) const;
  [[nodiscard]] static device::Memory memory(int /*rank*/, int /*ranks*/, device::Memory chosen) { return chosen; }

  [[nodiscard]] Blocks blocks() const { return {vectors, block}; }
  /// Blocks that lie on the device at a time.
  [[nodiscard]] std::size_t slots() const { return overlap ? std::min(depth, blocks().count()) : 1; }
  [[nodiscard]] Numbers timed_numbers() const { return numbers == "integers" ? Numbers::integers : Numbers::full; }
  [[nodiscard]] std::size_t most_rows() const { return KnownGram::most_rows(type, timed_numbers()); }
  [[nodiscard]] std::size_t bytes(std::size_t elements) const { return elements * size_of(type); }

 private:
  [[nodiscard]] std::size_t default_block() const { return std::min(published_block, (vectors + 9) / 10); }
  void choose_size(const Room& room, int ranks);
  /// With so many vectors and the widest of the blocks, at most as wide as there are vectors.
  [[nodiscard]] XtxOptions largest_case(std::size_t with_vectors) const;
  [[nodiscard]] bool fits(const Room& room, int ranks, std::size_t with_vectors) const;
  [[nodiscard]] std::string too_large(const Room& room, int ranks) const;
};

void XtxOptions::describe(OptionSet& options) {
  const auto scaled = [](const std::size_t& value) {
    return [&value] { return value == 0 ? std::string("scaled to the memory") : std::to_string(value); };
  };
  options.add("dofs", dofs, "M, the rows of X: degrees of freedom over all ranks").text = scaled(dofs);
  auto& sized = options.add("vectors", vectors, "N, the columns of X: wavefunctions");
  sized.text = scaled(vectors);
  sized.sizes = true;
  auto& blocked = options.add("block", block, "B, the width of a block of S; several are measured in turn");
  blocked.text = [this] { return block.values.empty() ? "732, or a tenth of N" : std::to_string(block.current); };
  options.add("dtype", type, "type of an element: f64, c128, f32, c64");
  options.add("depth", depth, "blocks on the device at a time; with 1 nothing overlaps");
  options.add_choice("layout", layout, {"tall", "wide"},
                     "a block's columns one after the other, or its rows: the shape of the product in the BLAS");
  options.add_choice("first", first, {"largest", "smallest"},
                     "the block to begin with: the first product and the last reduction cannot be hidden");
  options.add_choice(
      "priority", priority, {"high", "normal"},
      "of the communication's stream on a GPU; with normal its kernels begin when the next product ends");
  options.add_choice("numbers", numbers, {"full", "integers"},
                     "full: every bit in use, as in an application, after warm-up rounds of integers that are checked "
                     "exactly; integers: exact throughout, but a GPU at its power limit multiplies them faster");
  options.add_flag("overlap", "no-overlap", overlap, "two streams; --no-overlap: one that does everything in turn");
  options.add_flag(
      "copy", "no-copy", copy,
      "copy each block to the host; --no-copy: leave it on the device, where the last --depth are checked");
  options.add_flag("tune", "no-tune", tune, "let the BLAS try all that it has for each shape first (cuBLAS 13.1)");
  options.add_trace(trace);
}

void XtxOptions::settle(int /*ranks*/) const {
  if (type == DataType::i32) throw UsageError("dtype", "i32", "write f64, c128, f32 or c64");
  if (dofs > most_rows()) {
    throw UsageError("dofs", std::to_string(dofs),
                     "the sums of " + std::string(name(type)) + " can be checked up to " + std::to_string(most_rows()) +
                         " rows with --numbers " + numbers);
  }
}

Footprint XtxOptions::footprint(int rank, int ranks) const {
  const auto size = static_cast<double>(size_of(type));
  const auto rows = static_cast<double>(Share::of(dofs, rank, ranks).count);
  const double largest_block = static_cast<double>(vectors) * static_cast<double>(block) * size;
  return {.buffers = rows * static_cast<double>(vectors) * size + static_cast<double>(slots()) * largest_block +
                     KnownGram::bytes(type, vectors),
          .staging = copy ? blocks().about() * size : 0,
          .operation = largest_block};
}

XtxOptions XtxOptions::largest_case(std::size_t with_vectors) const {
  XtxOptions other = *this;
  other.vectors = with_vectors;
  other.block.current =
      block.values.empty() ? other.default_block() : *std::max_element(block.values.begin(), block.values.end());
  other.block.current = std::min<std::size_t>(other.block, with_vectors);
  return other;
}

bool XtxOptions::fits(const Room& room, int ranks, std::size_t with_vectors) const {
  return room.holds(largest_case(with_vectors).footprint(0, ranks));
}

/// The published case, or as much of it in both directions as half of a GPU's memory holds. On the host 64 MiB a rank,
/// which a core multiplies in moments. What the user has given stays.
void XtxOptions::choose_size(const Room& room, int ranks) {
  constexpr double on_the_host = 64.0 * 1024 * 1024;
  const double bytes_a_rank = room.on_gpu ? room.buffers / 2 : std::min(room.buffers / 2, on_the_host);
  const double elements = bytes_a_rank * ranks / static_cast<double>(size_of(type));  // of X
  const double scale = std::sqrt(elements / (static_cast<double>(published_dofs) * published_vectors));
  const auto at_most = [](std::size_t limit, double wanted) {
    return static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(limit)));
  };
  const bool vectors_given = vectors > 0;
  const bool dofs_given = dofs > 0;
  if (!vectors_given) {
    vectors = at_most(published_vectors, dofs_given ? elements / static_cast<double>(dofs) : published_vectors * scale);
  }
  if (!dofs_given) {
    dofs = at_most(std::min(published_dofs, most_rows()),
                   vectors_given ? elements / static_cast<double>(vectors) : published_dofs * scale);
  }
  auto& free = vectors_given ? dofs : vectors;
  while (free > 1 && !fits(room, ranks, vectors)) free = free * 9 / 10;
}

std::vector<std::string> XtxOptions::fit(const Room& room, int ranks) {
  std::vector<std::string> notes;
  if (dofs == 0 || vectors == 0) {
    choose_size(room, ranks);
    const double bytes_of_x =
        static_cast<double>(dofs) * static_cast<double>(vectors) * static_cast<double>(size_of(type));
    notes.push_back("of the published case (--dofs " + std::to_string(published_dofs) + " --vectors " +
                    std::to_string(published_vectors) + ") what suits the memory here: --dofs " + std::to_string(dofs) +
                    " --vectors " + std::to_string(vectors) + ", " + binary_bytes(bytes_of_x / ranks) +
                    " of X on each rank");
  }
  if (block.values.empty()) block.current = default_block();
  for (const std::size_t width : block.values) {
    if (width <= vectors) continue;
    throw UsageError(
        "block", std::to_string(width),
        "wider than the " + std::to_string(vectors) + " columns of X: write at most that, or more --vectors");
  }
  if (fits(room, ranks, vectors)) return notes;

  throw UsageError("vectors", std::to_string(vectors), too_large(room, ranks));
}

std::string XtxOptions::too_large(const Room& room, int ranks) const {
  std::size_t largest = 0;
  for (std::size_t beyond = vectors; beyond - largest > 1;) {
    const std::size_t middle = largest + (beyond - largest) / 2;
    (fits(room, ranks, middle) ? largest : beyond) = middle;
  }
  const XtxOptions wanted = largest_case(vectors);
  const Footprint needed = wanted.footprint(0, ranks);
  const double on_host = needed.staging + needed.operation;
  const std::string both = room.on_gpu ? binary_bytes(needed.buffers) + " of GPU memory and " + binary_bytes(on_host)
                                       : binary_bytes(needed.buffers + on_host);
  const std::string free =
      room.on_gpu ? binary_bytes(room.buffers) + " and " + binary_bytes(room.host) : binary_bytes(room.host);
  const std::string narrower = largest < wanted.block ? ", and --block no wider" : "";
  return "needs " + both + " of host memory on each rank, where " + free + " are free; with --dofs " +
         std::to_string(dofs) + " --depth " + std::to_string(depth) + " " +
         (largest > 0 ? "the largest that fits is --vectors " + std::to_string(largest) + narrower
                      : "not even one fits: ask for less of them, or start more ranks");
}

/// The streams, and what is done on them. A step is a block in the order in which they are done; a slot holds the block
/// of a step on the device, until it has been copied.
class Pipeline {
 public:
  Pipeline(Run& run, const XtxOptions& options);

  /// All of S, overlapped. Ends on the run's stream.
  void operate(Tracer* tracer);
  // One part of it alone, the others left out.
  void multiply_all();
  void reduce_all();
  void copy_all();

  void reset(std::size_t round, Numbers numbers);
  [[nodiscard]] Verdict verify();

  [[nodiscard]] device::Gemm product(std::size_t step) const;
  [[nodiscard]] device::Gemm first_product() const { return product(block_of(0)); }  ///< of block 0, the largest
  [[nodiscard]] const Blocks& blocks() const { return blocks_; }

 private:
  void multiply(std::size_t step);
  void reduce(std::size_t step);
  void copy(std::size_t step);
  void wait_for_slot(std::size_t step);
  void alone(void (Pipeline::*work)(std::size_t step), device::Stream& stream);
  /// The run's stream waits for all that was added to a stream.
  void join(device::Stream& stream);
  [[nodiscard]] std::byte* slot(std::size_t step) const;
  [[nodiscard]] std::size_t block_of(std::size_t step) const {
    return options_.first == "largest" ? step : blocks_.count() - 1 - step;
  }
  [[nodiscard]] device::Stream& communication() { return communication_ ? *communication_ : *compute_; }

  Run& run_;
  const XtxOptions& options_;
  Blocks blocks_;
  std::size_t rows_;
  device::Buffer x_;
  device::Buffer slots_;  ///< `depth` blocks
  device::Buffer s_;      ///< all blocks, one after the other, on the host
  KnownGram gram_;
  std::unique_ptr<device::Stream> compute_;
  std::unique_ptr<device::Stream> communication_;           ///< none: everything is done on the other
  std::vector<std::unique_ptr<device::Event>> multiplied_;  ///< a slot
  std::vector<std::unique_ptr<device::Event>> free_;        ///< a slot
  std::unique_ptr<device::Event> done_;
  std::optional<std::size_t> written_;  ///< the seed of the numbers that X holds
};

Pipeline::Pipeline(Run& run, const XtxOptions& options)
    : run_(run),
      options_(options),
      blocks_(options.blocks()),
      rows_(Share::of(options.dofs, run.rank(), run.ranks()).count),
      x_(run.buffer(options.bytes(rows_ * options.vectors))),
      slots_(run.buffer(options.slots() * options.bytes(blocks_.elements(0)))),
      s_(options.copy ? run.staging_buffer(options.bytes(blocks_.elements())) : device::Buffer()),
      gram_(run, options.type, options.dofs, options.vectors),
      compute_(run.concurrent_stream(device::Priority::normal)),
      done_(run.event()) {
  if (options.overlap)
    communication_ =
        run.concurrent_stream(options.priority == "high" ? device::Priority::high : device::Priority::normal);
  for (std::size_t slot = 0; slot < options.slots(); ++slot) {
    multiplied_.push_back(run.event());
    free_.push_back(run.event());
  }
}

std::byte* Pipeline::slot(std::size_t step) const {
  return slots_.as<std::byte>() + step % multiplied_.size() * options_.bytes(blocks_.elements(0));
}

/// X by rows is X^T by columns, as the BLAS stores matrices. A tall block is S^T = X^T conj(X) by columns from the
/// diagonal down, which is S by rows from the diagonal on; a wide one is its adjoint, S by rows from the diagonal down.
device::Gemm Pipeline::product(std::size_t step) const {
  const std::size_t block = block_of(step);
  const std::byte* from = x_.as<std::byte>() + options_.bytes(blocks_.first(block));
  const std::size_t rows = options_.layout == "tall" ? blocks_.length(block) : blocks_.width_of(block);
  const std::size_t columns = options_.layout == "tall" ? blocks_.width_of(block) : blocks_.length(block);
  return {.type = options_.type,
          .b_operation = device::Operation::adjoint,
          .m = rows,
          .n = columns,
          .k = rows_,
          .a = from,
          .lda = options_.vectors,
          .b = from,
          .ldb = options_.vectors,
          .c = slot(step),
          .ldc = rows,
          .tune = options_.tune};
}

void Pipeline::multiply(std::size_t step) { run_.blas().gemm(product(step), *compute_); }

void Pipeline::reduce(std::size_t step) {
  run_.transport().allreduce(slot(step), slot(step), blocks_.elements(block_of(step)), options_.type, communication());
}

void Pipeline::copy(std::size_t step) {
  if (!options_.copy) return;
  const std::size_t block = block_of(step);
  communication().copy(s_.as<std::byte>() + options_.bytes(blocks_.elements_before(block)), slot(step),
                       options_.bytes(blocks_.elements(block)));
}

/// A transport that blocks the host must find the next product queued: so all slots but one go ahead. The host waits
/// for a slot to be free, although its stream does so too: then it is never more than that ahead, and whoever watches
/// over the run sees it move.
void Pipeline::operate(Tracer* tracer) {
  const std::size_t slots = multiplied_.size();
  for (std::size_t next = 0; next < blocks_.count() + slots - 1; ++next) {
    if (next < blocks_.count()) {
      wait_for_slot(next);
      compute_->wait_for(*free_[next % slots]);
      traced(tracer, *compute_, {"compute", "multiplications", block_of(next)}, [&] { multiply(next); });
      compute_->record(*multiplied_[next % slots]);
    }
    if (next + 1 < slots) continue;
    const std::size_t step = next + 1 - slots;
    const std::size_t block = block_of(step);
    communication().wait_for(*multiplied_[step % slots]);
    traced(tracer, communication(), {"communication", "reductions", block}, [&] { reduce(step); });
    if (options_.copy) traced(tracer, communication(), {"communication", "copies", block}, [&] { copy(step); });
    communication().record(*free_[step % slots]);
  }
  join(communication());  // which has waited for all of the other
}

void Pipeline::wait_for_slot(std::size_t step) {
  free_[step % free_.size()]->wait();
  Run::alive();
}

/// One kind of step for all blocks, on its stream, with no more of them queued than there are slots.
void Pipeline::alone(void (Pipeline::*work)(std::size_t step), device::Stream& stream) {
  for (std::size_t step = 0; step < blocks_.count(); ++step) {
    wait_for_slot(step);
    (this->*work)(step);
    stream.record(*free_[step % free_.size()]);
  }
  join(stream);
}

void Pipeline::multiply_all() { alone(&Pipeline::multiply, *compute_); }
void Pipeline::reduce_all() { alone(&Pipeline::reduce, communication()); }
void Pipeline::copy_all() { alone(&Pipeline::copy, communication()); }

void Pipeline::join(device::Stream& stream) {
  stream.record(*done_);
  run_.stream().wait_for(*done_);
}

/// New numbers for each round of integers; those in full stay, so that X is written once for all rounds that are timed.
void Pipeline::reset(std::size_t round, Numbers numbers) {
  const std::size_t wanted = numbers == Numbers::integers ? round : 0;
  if (!written_ || *written_ != wanted) gram_.write(x_.data(), numbers, wanted);
  written_ = wanted;
  constexpr unsigned char not_a_number = 0xFF;
  run_.stream().fill(slots_.data(), not_a_number, slots_.bytes());
  if (options_.copy) run_.stream().fill(s_.data(), not_a_number, s_.bytes());
}

/// All blocks on the host; without copies, the last ones, which are still on the device.
Verdict Pipeline::verify() {
  // A GPU compares all of S in moments; on the host every so many rows of a large one.
  constexpr std::size_t most_on_host = 20'000'000;
  const std::size_t every = on_gpu(run_.memory()) ? 1 : 1 + blocks_.elements() / most_on_host;
  const std::size_t kept = options_.copy ? blocks_.count() : multiplied_.size();
  Verdict verdict;
  for (std::size_t step = blocks_.count() - kept; step < blocks_.count(); ++step) {
    const std::size_t block = block_of(step);
    const void* data = options_.copy ? s_.as<std::byte>() + options_.bytes(blocks_.elements_before(block)) : slot(step);
    const auto shape = product(step);  // by columns; S is compared by rows
    const Verdict of_block =
        gram_.compare(data, {.first = blocks_.first(block), .rows = shape.n, .columns = shape.m}, every);
    verdict.elements += of_block.elements;
    if (verdict.error.empty()) verdict.error = of_block.error;
  }
  return verdict;
}

std::vector<measure::Figure> figures(double flops_a_rank) {
  using measure::Better;
  return {{"time_s", Better::lower, [](double seconds) { return seconds; }},
          {"rank_TFLOPs", Better::higher, [=](double seconds) { return flops_a_rank / seconds * 1e-12; }}};
}

/// Products alone, and the bytes alone: copied to the host, and between the ranks' memories as in an Allreduce.
std::vector<CeilingRequest> ceilings(Run& run, const XtxOptions& options, const Pipeline& pipeline, double flops) {
  const device::Gemm block = pipeline.first_product();
  const std::size_t bytes = options.bytes(pipeline.blocks().elements());
  std::vector<CeilingRequest> ceilings{GemmCeiling{flops, {.type = options.type}}, GemmCeiling{flops, block}};
  if (options.copy) ceilings.emplace_back(CopyCeiling{.bytes = bytes, .peer = run.rank(), .to_staging = true});
  if (run.ranks() > 1) {
    ceilings.emplace_back(CopyCeiling{
        .bytes = bytes, .copies = 2.0 * (run.ranks() - 1) / run.ranks(), .peer = (run.rank() + 1) % run.ranks()});
  }
  return ceilings;
}

void xtx(Run& run, const XtxOptions& options) {
  require_sums(run, options.type);
  if (options.tune && !run.blas().tunes()) throw Unfit("--tune needs a BLAS that tries: cuBLAS 13.1 or newer");
  Pipeline pipeline(run, options);
  const Blocks blocks = pipeline.blocks();
  const double products = static_cast<double>(options.dofs) / run.ranks() * static_cast<double>(blocks.elements());
  const double flops = (components(options.type) == 2 ? 8 : 2) * products;
  auto repetition = run.repetition({.repeat = 1, .warmup = 1, .batches = 10});
  repetition.warmup = std::max<std::size_t>(repetition.warmup, 1);  // a round of integers proves the pipeline exactly
  const auto numbers_of = [&](std::size_t round) {
    return round == 1 ? Numbers::integers : options.timed_numbers();  // the warm-up is one round
  };
  std::vector<Part> parts{{"multiplications", "compute", [&] { pipeline.multiply_all(); }},
                          {"reductions", "communication", [&] { pipeline.reduce_all(); }}};
  if (options.copy) parts.push_back({"copies", "communication", [&] { pipeline.copy_all(); }});
  run.measure({.operation = "overlap matrix of " + std::to_string(blocks.count()) + " blocks",
               .reset = [&](std::size_t round) { pipeline.reset(round, numbers_of(round)); },
               .operate = [&] { pipeline.operate(nullptr); },
               .verify = [&](std::size_t, std::size_t) { return pipeline.verify(); },
               .exact = options.timed_numbers() == Numbers::integers,
               .repetition = repetition,
               .figures = figures(flops),
               .parts = std::move(parts),
               .trace = [&](Tracer& tracer) { pipeline.operate(&tracer); },
               .ceilings = ceilings(run, options, pipeline, flops)});
}

BENCHMARK("xtx", "the overlap matrix X^T X, with communication behind arithmetic (DFT-FE's benchmarkXtX)", xtx,
          XtxOptions);

}  // namespace
}  // namespace commlens
