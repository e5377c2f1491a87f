// What a rank's calls of MPI_Allgatherv and MPI_Scatterv take, in any program: loaded before MPI's library.
//
//   mpicc -O2 -shared -fPIC -o call_times.so tools/peers/call_times.c
//   CALL_BYTES=4096 mpirun -n 3 -x LD_PRELOAD=$PWD/call_times.so PROGRAM...
//
// CALL_BYTES: what a rank sends (MPI_Allgatherv) or receives (MPI_Scatterv) in a call; calls of other sizes and in
// place are passed on. Of the calls that follow each other within 30 us the longest series counts, and of that the last
// 1000. Each rank prints to standard error, as MPI_Finalize is called: the number of calls; the mean and the median
// from call to return; the mean from one call to the next (period). All in us. It counts the first 100000 calls. What
// it does itself, about 0.1 us per call, is in the period, not in the mean.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { most_calls = 100000, most_counted = 1000 };
static const double pause_s = 30e-6;

static double begin[most_calls], end[most_calls];
static int calls;

static int is_timed(const void *own, int count, MPI_Datatype type) {
  static long wanted = -1;
  int size;
  if (wanted < 0) wanted = getenv("CALL_BYTES") ? atol(getenv("CALL_BYTES")) : 0;
  if (own == MPI_IN_PLACE || calls == most_calls) return 0;
  PMPI_Type_size(type, &size);
  return (long)count * size == wanted;
}

int MPI_Allgatherv(const void *from, int count, MPI_Datatype type, void *to, const int counts[], const int places[],
                   MPI_Datatype to_type, MPI_Comm comm) {
  const int timed = is_timed(from, count, type);
  if (timed) begin[calls] = PMPI_Wtime();
  const int status = PMPI_Allgatherv(from, count, type, to, counts, places, to_type, comm);
  if (timed) end[calls++] = PMPI_Wtime();
  return status;
}

int MPI_Scatterv(const void *from, const int counts[], const int places[], MPI_Datatype type, void *to, int count,
                 MPI_Datatype to_type, int root, MPI_Comm comm) {
  const int timed = is_timed(to, count, to_type);
  if (timed) begin[calls] = PMPI_Wtime();
  const int status = PMPI_Scatterv(from, counts, places, type, to, count, to_type, root, comm);
  if (timed) end[calls++] = PMPI_Wtime();
  return status;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print(int first, int count) {
  static double each[most_counted];
  double sum = 0;
  int rank;
  for (int call = 0; call < count; ++call) sum += each[call] = end[first + call] - begin[first + call];
  qsort(each, count, sizeof each[0], by_size);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double period = (begin[first + count - 1] - begin[first]) / (count - 1);
  char line[200];  // written at once: lines of ranks do not mix
  snprintf(line, sizeof line, "call_times: rank %d calls %d mean %.3f median %.3f period %.3f\n", rank, count,
           sum / count * 1e6, each[count / 2] * 1e6, period * 1e6);
  fputs(line, stderr);
}

int MPI_Finalize(void) {
  int longest = 0, longest_first = 0, first = 0;
  for (int call = 1; call <= calls; ++call) {
    if (call < calls && begin[call] - end[call - 1] <= pause_s) continue;
    if (call - first > longest) longest = call - first, longest_first = first;
    first = call;
  }
  const int counted = longest < most_counted ? longest : most_counted;
  if (counted > 1) print(longest_first + longest - counted, counted);
  return PMPI_Finalize();
}
