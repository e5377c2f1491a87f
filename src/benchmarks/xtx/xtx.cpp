// DFT-FE's overlap matrix: S = X^H X, where X has one row per degree of freedom, spread over the ranks, and one column
// per wavefunction (S. Das et al., "DFT-FE 1.0", arXiv 2203.07820, section on Rayleigh-Ritz).
//
// S is computed in blocks of B rows, from the diagonal on: a matrix product of this rank's rows of X, the sum of the
// products over the ranks, and a copy to the host, from where an application would fill its ScaLAPACK matrix. While
// block k is summed and copied on one stream, block k + 1 is multiplied on another (pipeline.hpp).
#include <cstddef>
#include <string>
#include <vector>

#include "benchmarks/xtx/options.hpp"
#include "benchmarks/xtx/pipeline.hpp"
#include "harness/benchmark.hpp"

namespace commlens::xtx {
namespace {

constexpr Metric time_s{"time_s", unit::s, Better::lower,
                        "time of the whole overlap matrix: products, reductions and copies, overlapped"};
constexpr Metric rank_TFLOPs{"rank_TFLOPs", unit::TFLOPs, Better::higher,
                             "per rank: 2*(M/ranks)*B*D operations for each block of B rows of length D (8 instead of "
                             "2 for complex types), over the time",
                             "rate per rank"};

/// Of all blocks, on each rank.
double flops(const Run& run, const Options& options) {
  const double products =
      static_cast<double>(options.dofs) / run.ranks() * static_cast<double>(options.blocks().elements());
  return (components(options.type()) == 2 ? 8 : 2) * products;
}

std::vector<Part> parts(Pipeline& pipeline, bool copy) {
  std::vector<Part> parts{{part::multiplications, "compute", [&] { pipeline.multiply_all(); }},
                          {part::reductions, "communication", [&] { pipeline.reduce_all(); }}};
  if (copy) parts.push_back({part::copies, "communication", [&] { pipeline.copy_all(); }});
  return parts;
}

/// Products alone, and the bytes alone: copied to the host, and between the ranks' memories as in an Allreduce.
std::vector<CeilingRequest> ceilings(const Run& run, const Options& options, const Pipeline& pipeline) {
  const std::size_t bytes = options.bytes(pipeline.blocks().elements());
  const double operations = flops(run, options);
  std::vector<CeilingRequest> ceilings{GemmCeiling{operations, {.type = options.type()}},
                                       GemmCeiling{operations, pipeline.first_product()}};
  if (options.copy) ceilings.emplace_back(CopyCeiling{.bytes = bytes, .peer = run.rank(), .to_staging = true});
  if (run.ranks() > 1) {
    ceilings.emplace_back(CopyCeiling{
        .bytes = bytes, .copies = 2.0 * (run.ranks() - 1) / run.ranks(), .peer = (run.rank() + 1) % run.ranks()});
  }
  return ceilings;
}

void overlap_matrix(Run& run, const Options& options) {
  require_sums(run, options.type());
  if (options.tune && !run.blas().tunes()) {
    throw Unsupported("--tune needs a BLAS that can time its algorithms: cuBLAS 13.1 or newer");
  }
  Pipeline pipeline(run, options);
  const auto numbers_of = [&](std::size_t round) {
    return round == 1 ? Numbers::integers : options.numbers;  // the warm-up is one round
  };
  run.measure({.operation = "overlap matrix of " + std::to_string(pipeline.blocks().count()) + " blocks",
               .reset = [&](std::size_t round) { pipeline.reset(round, numbers_of(round)); },
               .operate = [&] { pipeline.operate(nullptr); },
               .verify = [&](std::size_t) { return pipeline.verify(); },
               .exact = options.numbers == Numbers::integers,
               .repetition = {.repeat = 1, .warmup = 1, .batches = 10},
               .least_warmup = 1,  // a round of integers proves the pipeline exactly
               .metrics = {time_s(), rank_TFLOPs(flops(run, options))},
               .parts = parts(pipeline, options.copy),
               .trace = [&](StepObserver& observer) { pipeline.operate(&observer); },
               .ceilings = ceilings(run, options, pipeline)});
}

BENCHMARK("xtx", "the overlap matrix X^T X, with communication behind arithmetic (DFT-FE's benchmarkXtX)",
          overlap_matrix, Options,
          .metrics = {time_s, rank_TFLOPs, measure::hidden_communication, measure::overlap_efficiency},
          .divides_work = true);

}  // namespace
}  // namespace commlens::xtx
