// That each benchmark's validation finds what the transports of wrong.cpp do, and says where.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "started.hpp"

namespace commlens {
namespace {

class Wrong : public testing::TestWithParam<Started> {};

/// Collective. Rank 0 has the output.
std::string said_by(const Started& start, Exit& status) {
  const bool captures = world().rank() == 0;
  if (captures) testing::internal::CaptureStdout();
  status = run(start);
  return captures ? testing::internal::GetCapturedStdout() : "";
}

TEST_P(Wrong, IsFound) {
  Exit status = Exit::ok;
  const std::string output = said_by(GetParam(), status);
  EXPECT_EQ(status, Exit::failed);
  if (world().rank() == 0) {
    EXPECT_THAT(output, testing::ContainsRegex("failed: wrong result: rank " + GetParam().output));
  }
}

/// A way of going wrong that a benchmark must find.
struct Case {
  std::string transport;
  std::string ranks;
  std::string output;
  std::string words = {};
};

std::vector<Started> of(const std::string& benchmark, const std::vector<Case>& cases) {
  std::vector<Started> starts;
  for (const Case& each : cases) {
    std::string name = each.transport + "_" + std::to_string(starts.size());
    for (char& letter : name) letter = letter == '-' ? '_' : letter;
    const std::string words = benchmark + " --transport " + each.transport + (each.words.empty() ? "" : " ");
    starts.push_back({name, each.ranks, words + each.words, each.output});
  }
  return here(starts);
}

std::vector<Started> xtx() {
  return of("xtx --dofs 1009 --vectors 53 --block 8 --batches 2",
            {
                {"off-by-one", "2", "1, after 1 operation: element \\(7, 52\\) of S is [-0-9]+, must be [-0-9]+",
                 "--numbers integers"},
                {"off-by-one", "1", "0, after 1 operation: element", "--no-copy --numbers integers"},
                {"off-by-one", "3", "2, after 1 operation: element", "--warmup 0"},
                {"forgetful", "2", "0, after 1 operation: element \\(0, 0\\)"},
                {"forgetful", "3", "0, after 1 operation: element \\(0, 0\\)", "--warmup 0"},
                {"forgetful", "4", "0, after 1 operation: element \\(0, 0\\)", "--warmup 0 --dtype f32"},
                // Many operations: in some of them the stream is done in time.
                {"hasty", "2", "0, after 1 operation: element", "--no-overlap --timing each --repeat 50"},
            });
}

std::vector<Started> allreduce() {
  return of("allreduce --count 1009 --batches 2 --out-of-place",
            {
                {"off-by-one", "2", "1, after [0-9]+ operations?: element 1008 of 1009 is"},
                {"biased", "3", "0, after [0-9]+ operations?: element 0 of 1009 is"},
                {"forgetful", "2", "0, after [0-9]+ operations?: element 0 of 1009 is 0, must be"},
            });
}

std::vector<Started> barrier() {
  return of("barrier --repeat 3",
            {{"impatient", "2", "[01], after [0-9]+ operations?: it left [0-9.]+ us before rank [01] came"}});
}

std::vector<Started> fft() {
  return of("fft --grid 13,7,10 --repeat 3",
            {
                {"off-by-one", "2", "[01], after 2 operations: coefficient \\([0-9]+, [0-9]+, [0-9]+\\) is the first"},
                {"off-by-one", "4", "[0-3], after 2 operations: coefficient", "--grid-of-ranks 2,2"},
                {"off-by-one", "3", "[0-2], after 1 operation: coefficient", "--warmup 0 --grid-span sphere"},
                {"forgetful", "2", "0, after 2 operations: coefficient", "--communicators cached"},
                {"forgetful", "3", "0, after 1 operation: coefficient", "--warmup 0 --dtype c64"},
                {"hasty", "2", "[01], after 2 operations: coefficient", "--communicators cached"},
            });
}

std::vector<Started> gather_scatter() {
  const std::string node = "node [0-9]+ of field [0-9], one of [248] with its global id, is [-.0-9]+, must be [-0-9]";
  return of("gather-scatter --elements 4,3,3 --order 3 --repeat 3 --warmup 1",
            {
                {"off-by-one", "2", "1, after 1 operation: " + node, "--mode pairwise"},
                {"off-by-one", "4", "3, after 1 operation: " + node, "--fields 3 --mode pairwise"},
                {"forgetful", "2", "0, after 1 operation: " + node, "--mode pairwise"},
                {"forgetful", "3", "0, after 1 operation: " + node, "--combine minimum --mode pairwise"},
                {"forgetful", "3", "0, after 1 operation: " + node, "--combine multiply --dtype f32 --mode pairwise"},
                {"hasty", "2", "[01], after 1 operation: " + node, "--mode pairwise"},
                {"hasty", "4", "[0-3], after 1 operation: " + node, "--mode crystal-router"},
                {"forgetful", "2", "0, after 1 operation: node", "--mode all-reduce"},
            });
}

const std::string ones = "the gather-scatter of ones gives -?[0-9.e+na-]+ at node [0-9]+, which [248] elements have";

std::vector<Started> bp5() {
  const std::string sums = "(b - A x differs from the residual of the iteration by|" + ones + ")";
  const std::string norm = "the norm of the residual is [0-9.e+-]+, and was [0-9.e+-]+ in the iteration";
  return of("bp5 --elements 4,3,3 --order 3 --iterations 10 --repeat 2",
            {
                {"off-by-one", "2", "[01], after 1 operation: " + sums},
                {"off-by-one", "2", "[01], after 1 operation: " + sums, "--mode pairwise --storage element"},
                {"off-by-one", "3", "[0-2], after 1 operation: " + sums, "--mode pairwise --no-overlap"},
                {"forgetful", "2", "0, after 1 operation: " + ones, "--mode pairwise"},
                {"forgetful", "3", "0, after 1 operation: " + ones, "--storage element --solver fused"},
                {"hasty", "2", "0, after 1 operation: " + ones, "--mode crystal-router"},
                {"hasty", "4", "[0-3], after 1 operation: " + ones, "--mode pairwise"},
                {"biased", "2", "0, after 1 operation: " + norm, "--mode pairwise"},
                {"biased", "3", "0, after 1 operation: " + norm, "--mode pairwise --solver fused"},
            });
}

std::vector<Started> bps5() {
  const std::string norm = R"(\|b - A x\| / \|b\| is -?[0-9.e+na-]+, and was -?[0-9.e+na-]+ in the iteration)";
  const std::string either = "(" + norm + "|" + ones + ")";
  return of("bps5 --elements 4,3,3 --order 3 --repeat 2",
            {
                {"off-by-one", "2", "[01], after 1 operation: " + either},
                {"off-by-one", "3", "[0-2], after 1 operation: " + either, "--mode pairwise --no-overlap"},
                {"forgetful", "2", "0, after 1 operation: " + ones, "--mode pairwise"},
                {"forgetful", "3", "0, after 1 operation: " + ones, "--smoother chebyshev-jacobi"},
                {"hasty", "2", "0, after 1 operation: " + ones, "--mode crystal-router --overlap"},
                {"biased", "2", "0, after 1 operation: " + norm, "--mode pairwise"},
                {"biased", "3", "0, after 1 operation: " + norm, "--mode crystal-router --smoother ras"},
            });
}

INSTANTIATE_TEST_SUITE_P(Xtx, Wrong, testing::ValuesIn(xtx()), test_name);
INSTANTIATE_TEST_SUITE_P(Allreduce, Wrong, testing::ValuesIn(allreduce()), test_name);
INSTANTIATE_TEST_SUITE_P(Barrier, Wrong, testing::ValuesIn(barrier()), test_name);
INSTANTIATE_TEST_SUITE_P(Fft, Wrong, testing::ValuesIn(fft()), test_name);
INSTANTIATE_TEST_SUITE_P(GatherScatter, Wrong, testing::ValuesIn(gather_scatter()), test_name);
INSTANTIATE_TEST_SUITE_P(Bp5, Wrong, testing::ValuesIn(bp5()), test_name);
INSTANTIATE_TEST_SUITE_P(Bps5, Wrong, testing::ValuesIn(bps5()), test_name);

}  // namespace
}  // namespace commlens
