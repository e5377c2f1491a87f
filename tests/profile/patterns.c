// Communication that a profile must name: its first argument says which.
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { loops = 2000, wait_us = 200000 };

static int rank, ranks;

static void make_communicators(void) {
  for (int i = 0; i < loops / 10; ++i) {
    MPI_Comm duplicate;
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    MPI_Comm_free(&duplicate);
  }
}

static void send_small_messages(void) {
  int out = 0;
  int in = 0;
  for (int i = 0; i < loops; ++i) {
    MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % ranks, 0, &in, 1, MPI_INT, (rank + ranks - 1) % ranks, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void reduce_tiny_data(void) {
  double value = 1;
  double sum = 0;
  for (int i = 0; i < loops; ++i) MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void send_late(void) {
  int data = 0;
  if (rank == 1) {
    usleep(wait_us);
    MPI_Send(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  } else if (rank == 0) {
    MPI_Recv(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void receive_late(void) {
  int data = 0;
  for (int i = 0; i < 2; ++i) {  // the first, which nobody is late for, tells what a send takes
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
      MPI_Ssend(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    } else if (rank == 0) {
      if (i == 1) usleep(wait_us);
      MPI_Recv(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
}

enum { exchanged = 1000 };
static double out[exchanged], in[exchanged];

static void exchange_blocking(int other) {
  MPI_Sendrecv(out, exchanged, MPI_DOUBLE, other, 0, in, exchanged, MPI_DOUBLE, other, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv_replace(in, exchanged, MPI_DOUBLE, other, 1, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void exchange_nonblocking(int other) {
  MPI_Request requests[2];
  MPI_Irecv(in, exchanged, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, exchanged, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/// There is nothing to wait for in the first call of MPI_Wait.
static void exchange_in_turns(int other) {
  MPI_Request requests[3] = {MPI_REQUEST_NULL};
  MPI_Irecv(in, exchanged, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(out, exchanged, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, &requests[2]);
  for (int i = 0; i < 3; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

/// Rank 1 is late in the end, but not before, which tells what the exchange takes.
static void exchange_late(void (*exchange)(int)) {
  enum { times = 4 };
  for (int i = 0; i < times && rank < 2; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (i + 1 == times && rank == 1) usleep(wait_us);
    exchange(1 - rank);
  }
}
static void late_blocking(void) { exchange_late(exchange_blocking); }
static void late_nonblocking(void) { exchange_late(exchange_nonblocking); }
static void late_in_turns(void) { exchange_late(exchange_in_turns); }

/// What always takes long is no waiting; nor is what other work hides.
static void exchange_slowly(void) {
  for (int i = 0; i < 3; ++i) {
    MPI_Request none = MPI_REQUEST_NULL;
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Irecv(in, exchanged, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, &request);
      MPI_Wait(&none, MPI_STATUS_IGNORE);
      if (i == 1) usleep(2 * wait_us);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
      usleep(wait_us);
      MPI_Send(out, exchanged, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    }
  }
}

static void arrive_late(void) {
  if (rank == 1) usleep(wait_us);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void mark_regions(void) {
  int data[5] = {0};
  MPI_Bcast(data, 2, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Pcontrol(1, "outer");
  for (int i = 0; i < 3; ++i) {
    MPI_Pcontrol(1, "inner");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(data, 5, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Pcontrol(-1, "inner");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Pcontrol(-1, "outer");
  MPI_Pcontrol(7);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Pcontrol(-7);
}

static void* receive_from_self(void* tag) {
  int data = 0;
  MPI_Recv(&data, 1, MPI_INT, 0, *(int*)tag, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  return NULL;
}

static void sum_slowly(void* in, void* inout, int* count, MPI_Datatype* datatype) {
  (void)datatype;
  usleep(wait_us);
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static void* reduce_slowly(void* operation) {
  int in = 1;
  int inout = 1;
  MPI_Reduce_local(&in, &inout, 1, MPI_INT, *(MPI_Op*)operation);
  return NULL;
}

/// Four threads are in MPI at the same time, and none of them waits for another one.
static void reduce_in_threads(void) {
  enum { threads = 4 };
  pthread_t ids[threads];
  MPI_Op operation;
  MPI_Op_create(sum_slowly, 1, &operation);
  for (int i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, reduce_slowly, &operation);
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  MPI_Op_free(&operation);
}

/// One thread never comes back.
static void leave_thread_in_mpi(void) {
  static int tag = 99;
  pthread_t id;
  pthread_create(&id, NULL, receive_from_self, &tag);
  usleep(wait_us);
  exit(0);
}

static const struct {
  const char* name;
  void (*run)(void);
} patterns[] = {
    {"communicators", make_communicators},
    {"small", send_small_messages},
    {"tiny", reduce_tiny_data},
    {"late-sender", send_late},
    {"late-receiver", receive_late},
    {"late-blocking", late_blocking},
    {"late-nonblocking", late_nonblocking},
    {"late-in-turns", late_in_turns},
    {"slow", exchange_slowly},
    {"late-rank", arrive_late},
    {"regions", mark_regions},
    {"threads", reduce_in_threads},
    {"open", leave_thread_in_mpi},
};

int main(int argc, char** argv) {
  int level = 0;
  if (argc > 1 && strcmp(argv[1], "late-start") == 0) usleep(wait_us);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; ++i) {
    if (argc > 1 && strcmp(argv[1], patterns[i].name) == 0) patterns[i].run();
  }
  MPI_Finalize();
  return 0;
}
