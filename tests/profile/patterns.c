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
    MPI_Comm own;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Comm_free(&own);
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

static void arrive_late(void) {
  if (rank == 1) usleep(wait_us);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void mark_regions(void) {
  MPI_Pcontrol(1, "outer");
  for (int i = 0; i < 3; ++i) {
    MPI_Pcontrol(1, "inner");
    MPI_Barrier(MPI_COMM_WORLD);
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
    {"late-rank", arrive_late},
    {"regions", mark_regions},
    {"threads", reduce_in_threads},
    {"open", leave_thread_in_mpi},
};

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; ++i) {
    if (argc > 1 && strcmp(argv[1], patterns[i].name) == 0) patterns[i].run();
  }
  MPI_Finalize();
  return 0;
}
