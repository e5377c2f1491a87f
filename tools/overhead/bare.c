/* The loops of osu_latency and osu_bw (OSU micro-benchmarks 7, validation off), written from their
 * definitions. The clock is read around every operation, as OSU does.
 *
 *   mpirun -n 2 bare latency|bandwidth MAX_BYTES     prints "BYTES VALUE" lines: us or GB/s
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { window = 64, small_message = 8192 };

static char *page_aligned(size_t bytes) {
  void *data = NULL;
  if (posix_memalign(&data, (size_t)sysconf(_SC_PAGESIZE), bytes) != 0)
    MPI_Abort(MPI_COMM_WORLD, 1);
  return data;
}

static void round_trip(int rank, char *out, char *in, int bytes) {
  if (rank == 0) {
    MPI_Send(out, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(in, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(in, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(out, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
  }
}

static void one_window(int rank, char *out, char *in, int bytes) {
  static MPI_Request requests[window];
  if (rank == 0) {
    for (int i = 0; i < window; ++i)
      MPI_Isend(out, bytes, MPI_CHAR, 1, 100, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
    MPI_Recv(in, 4, MPI_CHAR, 1, 101, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    for (int i = 0; i < window; ++i)
      MPI_Irecv(in, bytes, MPI_CHAR, 0, 100, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
    MPI_Send(out, 4, MPI_CHAR, 0, 101, MPI_COMM_WORLD);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int latency = argc > 1 && strcmp(argv[1], "latency") == 0;
  const long largest = argc > 2 ? atol(argv[2]) : 4194304;
  char *out = page_aligned((size_t)largest + 4);
  char *in = page_aligned((size_t)largest + 4);
  for (long bytes = 1; bytes <= largest; bytes *= 2) {
    const int is_small = bytes <= small_message;
    const int repeat = latency ? (is_small ? 10000 : 1000) : (is_small ? 100 : 20);
    const int skip = latency ? (is_small ? 100 : 10) : (is_small ? 10 : 2);
    memset(out, 'a', (size_t)bytes);
    memset(in, 'b', (size_t)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    double total = 0;
    for (int i = 0; i < repeat + skip; ++i) {
      const double start = MPI_Wtime();
      latency ? round_trip(rank, out, in, (int)bytes) : one_window(rank, out, in, (int)bytes);
      if (i >= skip) total += MPI_Wtime() - start;
    }
    if (rank == 0) {
      printf(
          "%ld %.9g\n", bytes,
          latency ? total * 1e6 / (2.0 * repeat) : (double)bytes * window * repeat / total * 1e-9);
    }
  }
  MPI_Finalize();
  return 0;
}
