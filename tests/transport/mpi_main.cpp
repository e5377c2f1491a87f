// main() of test programs that are started on several ranks: if a test fails on one rank, it fails on all.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>

#include "world.hpp"

namespace {

/// After a test that failed on some ranks, ranks may not agree on what comes next. So all of them end, after the output
/// is flushed.
class EndTogether : public testing::EmptyTestEventListener {
 public:
  explicit EndTogether(int rank) : rank_(rank) {}

 private:
  /// Rank 0 has GoogleTest's printer.
  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (rank_ == 0 || !part.failed()) return;
    std::fprintf(stderr, "rank %d: %s:%d: %s\n", rank_, part.file_name() == nullptr ? "" : part.file_name(),
                 part.line_number(), part.message());
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    int failed = test.result()->Failed() ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (failed == 0) return;
    std::fflush(nullptr);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

  int rank_;
};

}  // namespace

int main(int argc, char** argv) {
  commlens::open_device_before_mpi();
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new EndTogether(rank));
  const int status = RUN_ALL_TESTS();
  MPI_Finalize();
  return status;
}
