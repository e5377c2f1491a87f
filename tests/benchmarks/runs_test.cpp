// Whole benchmarks at several numbers of ranks: each run is validated.
#include <string>
#include <vector>

#include "started.hpp"

namespace commlens {
namespace {

class Runs : public testing::TestWithParam<Started> {};

TEST_P(Runs, AreRight) { EXPECT_EQ(run(GetParam()), Exit::ok); }

/// mpi is left out on GPUs: it may not take their memory.
std::vector<Started> over_transports(std::vector<Started> runs) {
  const std::string transports = device::backend() == "host" ? " --transport mpi,staged" : " --transport staged";
  for (Started& run : runs) run.words += transports;
  return here(runs);
}

/// All in one style: the name, the ranks, and what a user would write.
std::vector<Started> point_to_point() {
  return over_transports({
      {"latency_matrix", "234", "latency --matrix --bytes 1,100000 --batches 1"},
      {"bandwidth_matrix", "234", "bandwidth --matrix --bytes 1,100000 --batches 1"},
      {"latency_without_forks", "2", "latency --forks 0 --bytes 8 --batches 1"},
      {"gather_to_rank_0", "3", "gather --root 0 --bytes 8 --batches 1"},
      {"latency_within_a_node", "4", "latency --pairs-across node --pairs 2 --bytes 8 --batches 1"},
      {"bandwidth_with_ranks_that_wait", "3", "bandwidth --pairs-across node --bytes 8 --batches 1"},
      {"both_ways_with_ranks_that_wait", "3", "bidirectional-bandwidth --pairs-across node --bytes 8 --batches 1"},
      {"message_rate_within_a_node", "3", "message-rate --pairs-across node --bytes 8 --batches 1"},
  });
}

/// In host memory, where `mpi` and `peer` have windows.
std::vector<Started> one_sided() {
  std::vector<Started> runs;
  for (const std::string synchronization : {"flush", "lock", "fence", "pscw"}) {
    const std::string with = " --transport mpi,peer --memory host --batches 1 --synchronization " + synchronization;
    runs.push_back({"put_" + synchronization, "2", "put-latency --bytes 1,3,100000" + with});
    runs.push_back({"get_" + synchronization, "3", "get-bandwidth --bytes 1,3,10007 --pairs-across node" + with});
    runs.push_back({"fetch_" + synchronization, "4", "fetch-and-op-latency --pairs 2 --dtype i64" + with});
  }
  return here(runs);
}

/// The rows are no multiple of the block of columns, and the columns none of the ranks.
std::vector<Started> xtx() {
  std::vector<Started> runs;
  const std::string small = "xtx --dofs 1009 --vectors 53 --batches 1 ";
  for (const std::string type : {"f64", "c128", "f32", "c64"}) {
    runs.push_back({type, "1234", small + "--block 8,53 --warmup 2 --numbers integers --dtype " + type});
  }
  const std::vector<Started> variants{
      {"full", "1234", "xtx --dofs 1009 --vectors 53 --block 8 --batches 3"},
      {"deep", "1234", small + "--block 5 --depth 7"},
      {"shallow", "1234", small + "--block 5 --depth 1"},
      {"one_stream", "1234", small + "--block 5 --no-overlap"},
      {"on_the_device", "1234", small + "--block 5 --no-copy"},
      {"wide", "1234", small + "--block 5,53 --layout wide --dtype c128 --priority normal"},
      {"smallest_first", "1234", small + "--block 5 --first smallest --depth 3"},
      // Fewer rows than ranks: some have none.
      {"tiny", "1234", "xtx --dofs 1 --vectors 1 --batches 1"},
  };
  runs.insert(runs.end(), variants.begin(), variants.end());
  return over_transports(runs);
}

/// No axis is a multiple of the ranks, 13 and 7 are primes. Both communicators, in one start.
std::vector<Started> fft() {
  std::vector<Started> runs{
      {"in_batches", "1234", "fft --repeat 3 --grid 16 --timing batch --batches 2 --warmup 0"},
      // Fewer points than ranks in a direction, or just one point: some ranks have none.
      {"flat", "1234", "fft --repeat 3 --grid 2,1,3 --grid-of-ranks RANKS,1"},
      {"flat_pencils", "1234", "fft --repeat 3 --grid 3,2,1 --grid-of-ranks 1,RANKS"},
      {"point", "1234", "fft --repeat 3 --grid 1 --grid-span sphere"},
  };
  for (const std::string span : {"full", "sphere"}) {
    const std::string of_span = "fft --repeat 3 --grid 13,7,10 --grid-span " + span;
    for (const std::string type : {"c128", "c64"}) {
      const std::string of_type = of_span + " --dtype " + type;
      runs.push_back({span + "_" + type, "1234", of_type});
      runs.push_back({span + "_pencils_" + type, "1234", of_type + " --grid-of-ranks 1,RANKS"});
    }
    for (const std::string exchange : {"alltoallv", "pairwise", "pipelined"}) {
      runs.push_back({"2x2_" + exchange + "_" + span, "4", of_span + " --grid-of-ranks 2,2 --exchange " + exchange});
    }
  }
  for (const std::string exchange : {"pairwise", "pipelined"}) {
    const std::string words = "fft --repeat 3 --grid 9,11,6 --exchange " + exchange;
    runs.push_back({exchange, "1234", words});
    runs.push_back({exchange + "_pencils", "1234", words + " --grid-of-ranks 1,RANKS --grid-span sphere"});
  }
  return over_transports(runs);
}

/// Global ids of up to 100 nodes of all ranks, and meshes that the ranks do not divide, some with one element per rank.
/// All modes, in one start.
std::vector<Started> gather_scatter() {
  const std::string common = "gather-scatter --repeat 3 --warmup 1 ";
  const std::string random = common + "--ids random ";
  std::vector<Started> runs{
      {"random", "12358", random + "--nodes 1009"},
      {"random_f32", "12358", random + "--nodes 101 --multiplicity 7 --dtype f32 --fields 3"},
      {"random_thinned", "12358", random + "--nodes 101 --exchange-dtype f32"},
      {"random_single", "12358", random + "--nodes 1 --multiplicity 2"},
      {"random_alone", "12358", random + "--nodes 11 --multiplicity 1"},
      {"mesh", "12358", common + "--elements 7,3,2 --order 3 --fields 3"},
      {"mesh_lean", "12358", common + "--elements RANKS,1,1 --order 15"},
      {"overlap", "12358", common + "--elements 6,5,4 --order 7 --overlap"},
      {"in_batches", "12358", "gather-scatter --elements 3,3,3 --timing batch --batches 2 --repeat 20"},
  };
  for (const std::string combine : {"multiply", "minimum", "maximum"}) {
    const std::string of_mesh = common + "--elements 4,3,2 --order 2 --dtype f32 --combine " + combine;
    runs.push_back({"random_" + combine, "12358", random + "--nodes 509 --combine " + combine});
    runs.push_back({"mesh_" + combine, "12358", of_mesh});
  }
  return over_transports(runs);
}

/// Solves on meshes that the ranks do not divide; with one element per rank; with one unknown, which all ranks have;
/// and with none at all.
std::vector<Started> bp5() {
  const std::string common = "bp5 --repeat 2 --warmup 1 ";
  return over_transports({
      {"mesh", "12358", common + "--elements 7,4,4 --order 3"},
      {"by_element", "12358", common + "--elements 9,4,3 --order 4 --storage element --geometry stored --solver fused"},
      {"thinned", "3", common + "--elements 5,4,3 --order 2 --exchange-dtype f32 --no-overlap"},
      {"lean", "18", common + "--elements RANKS,1,1 --order 15 --rhs manufactured"},
      {"one_unknown", "18", common + "--elements 2 --order 1 --solver fused"},
      {"no_unknown", "18", common + "--elements RANKS,1,1 --order 1"},
      {"sizes", "2", common + "--edge 1:4 --iterations 60"},
  });
}

/// Preconditioned solves: every smoother, levels and coarse solver; with one element per rank; with one unknown, and
/// none.
std::vector<Started> bps5() {
  const std::string common = "bps5 --repeat 2 --warmup 1 ";
  return over_transports({
      {"mesh", "1235", common + "--elements 5,3,3 --order 3"},
      {"four_levels", "123", common + "--elements 4,3,3 --order 5 --levels 5,3,2,1 --coarse cg --geometry stored"},
      {"ras", "123", common + "--elements 3 --order 4 --smoother ras --no-overlap"},
      {"jacobi", "123", common + "--elements 3 --order 3 --smoother chebyshev-jacobi --restart 7"},
      {"lean", "123", common + "--elements RANKS,1,1 --order 9 --rhs manufactured"},
      {"one_unknown", "123", common + "--elements 2 --order 1"},
      {"no_unknown", "123", common + "--elements RANKS,1,1 --order 1"},
      {"sizes", "2", common + "--edge 1:4 --order 3"},
  });
}

INSTANTIATE_TEST_SUITE_P(PointToPoint, Runs, testing::ValuesIn(point_to_point()), test_name);
INSTANTIATE_TEST_SUITE_P(OneSided, Runs, testing::ValuesIn(one_sided()), test_name);
INSTANTIATE_TEST_SUITE_P(Xtx, Runs, testing::ValuesIn(xtx()), test_name);
INSTANTIATE_TEST_SUITE_P(Fft, Runs, testing::ValuesIn(fft()), test_name);
INSTANTIATE_TEST_SUITE_P(GatherScatter, Runs, testing::ValuesIn(gather_scatter()), test_name);
INSTANTIATE_TEST_SUITE_P(Bp5, Runs, testing::ValuesIn(bp5()), test_name);
INSTANTIATE_TEST_SUITE_P(Bps5, Runs, testing::ValuesIn(bps5()), test_name);

}  // namespace
}  // namespace commlens
