// The time from call to call of a collective, in any program: loaded before MPI's library. The collectives are those
// below.
//
//   mpicc -O2 -shared -fPIC -o period.so tools/peers/period.c
//   mpirun -n 3 env LD_PRELOAD=$PWD/period.so FIRST_CALL=100 LAST_CALL=1100 PROGRAM...
//
// Of each series of calls of the same function with the same bytes per rank the clock is read twice: as call FIRST_CALL
// begins (they are counted from 0), and as the call before LAST_CALL ends. As MPI_Finalize is called, each rank prints
// a line to standard error for each of these: the bytes, and the time between divided by the number of calls. A series
// that is too short has no line.
//
// With PAUSE_US=2000 each rank waits for 2 ms before the first call of a series, and keeps its core busy.
// commlens-bench sleeps as long before each size, for the launcher to pass on what it has shown.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_series = 64 };

static struct {
  long bytes;
  double period_us;
} found[most_series];
static int series;
static long first, last;  // of the calls that count
static double pause_s;
static const char *function_now = "";  // of the series that runs
static long bytes_now, number;
static double began;

__attribute__((constructor)) static void read_settings(void) {
  first = getenv("FIRST_CALL") ? atol(getenv("FIRST_CALL")) : 0;
  last = getenv("LAST_CALL") ? atol(getenv("LAST_CALL")) : 1;
  pause_s = getenv("PAUSE_US") ? 1e-6 * atof(getenv("PAUSE_US")) : 0;
}

static void series_begins(const char *function, long bytes) {
  function_now = function, bytes_now = bytes, number = 0;
  const double until = PMPI_Wtime() + pause_s;
  while (PMPI_Wtime() < until) continue;
}

static void call_begins(const char *function, int count, MPI_Datatype type) {
  int size;
  PMPI_Type_size(type, &size);
  const long bytes = (long)count * size;
  if (strcmp(function_now, function) != 0 || bytes_now != bytes) series_begins(function, bytes);
  if (number == first) began = PMPI_Wtime();
}

static int call_ended(int status) {
  if (++number == last && series < most_series) {
    found[series].bytes = bytes_now;
    found[series++].period_us = (PMPI_Wtime() - began) / (last - first) * 1e6;
  }
  return status;
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  call_begins(__func__, count, type);
  return call_ended(PMPI_Bcast(data, count, type, root, comm));
}

int MPI_Reduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  call_begins(__func__, count, type);
  return call_ended(PMPI_Reduce(from, to, count, type, op, root, comm));
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  call_begins(__func__, count, type);
  return call_ended(PMPI_Allreduce(from, to, count, type, op, comm));
}

int MPI_Gather(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type, int root,
               MPI_Comm comm) {
  call_begins(__func__, count, type);
  return call_ended(PMPI_Gather(from, count, type, to, to_count, to_type, root, comm));
}

int MPI_Gatherv(const void *from, int count, MPI_Datatype type, void *to, const int counts[], const int places[],
                MPI_Datatype to_type, int root, MPI_Comm comm) {
  call_begins(__func__, count, type);
  return call_ended(PMPI_Gatherv(from, count, type, to, counts, places, to_type, root, comm));
}

int MPI_Scatter(const void *from, int from_count, MPI_Datatype from_type, void *to, int count, MPI_Datatype type,
                int root, MPI_Comm comm) {
  call_begins(__func__, count, type);
  return call_ended(PMPI_Scatter(from, from_count, from_type, to, count, type, root, comm));
}

int MPI_Scatterv(const void *from, const int counts[], const int places[], MPI_Datatype from_type, void *to, int count,
                 MPI_Datatype type, int root, MPI_Comm comm) {
  call_begins(__func__, count, type);
  return call_ended(PMPI_Scatterv(from, counts, places, from_type, to, count, type, root, comm));
}

int MPI_Allgatherv(const void *from, int count, MPI_Datatype type, void *to, const int counts[], const int places[],
                   MPI_Datatype to_type, MPI_Comm comm) {
  call_begins(__func__, count, type);
  return call_ended(PMPI_Allgatherv(from, count, type, to, counts, places, to_type, comm));
}

int MPI_Finalize(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < series; ++i) {
    char line[100];  // written at once: lines of ranks do not mix
    snprintf(line, sizeof line, "period: rank %d bytes %ld us %.4f\n", rank, found[i].bytes, found[i].period_us);
    fputs(line, stderr);
  }
  return PMPI_Finalize();
}
