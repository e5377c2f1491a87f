/* Times gslib's gather-scatter of a box of elements, as `commlens run gather-scatter` times its own.
 *
 *   mpirun -n P gslib_pairwise NX NY NZ ORDER WARMUP SAMPLES   prints a line of seconds per sample
 *
 * The nodes of NX x NY x NZ elements of polynomial order ORDER lie on a lattice, whose points are
 * the global ids. A rank has as many elements in x as any other; nodes are stored element by
 * element. A sample is one gs() with gs_add on doubles, with gs_pairwise, after a barrier, of nodes
 * that have just been written; the slowest rank counts. Every result is compared with what it must
 * be, to the last bit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gslib.h"

enum { axes = 3, wrong = 4 };

struct box {
  long long begin[axes], end[axes]; /* of this rank, in elements */
  long long elements[axes];         /* of all ranks */
  int order;
};

/* Of a node: its id, and how many nodes of all ranks have it. */
struct node {
  unsigned id, copies;
};

static void *memory(size_t bytes) {
  void *data = NULL;
  if (posix_memalign(&data, 4096, bytes) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  return data;
}

static struct box box_of(int rank, int ranks, char **words) {
  struct box box = {.order = atoi(words[axes])};
  for (int axis = 0; axis < axes; ++axis) {
    box.elements[axis] = atoll(words[axis]);
    box.begin[axis] = 0;
    box.end[axis] = box.elements[axis];
  }
  const long long length = box.elements[0] / ranks;
  box.begin[0] = rank * length;
  box.end[0] = box.begin[0] + length;
  return box;
}

static size_t nodes_in(const struct box *box) {
  size_t nodes = 1;
  for (int axis = 0; axis < axes; ++axis)
    nodes *= (size_t)(box->end[axis] - box->begin[axis]) * (size_t)(box->order + 1);
  return nodes;
}

/* A point between two elements belongs to both. */
static struct node node_at(const struct box *box, const long long point[axes]) {
  long long id = 0;
  unsigned copies = 1;
  for (int axis = axes - 1; axis >= 0; --axis) {
    const long long last = box->elements[axis] * box->order;
    id = id * (last + 1) + point[axis];
    if (point[axis] % box->order == 0 && point[axis] > 0 && point[axis] < last) copies *= 2;
  }
  return (struct node){(unsigned)id, copies};
}

static void number(const struct box *box, struct node *next) {
  const int n = box->order;
  for (long long z = box->begin[2]; z < box->end[2]; ++z)
    for (long long y = box->begin[1]; y < box->end[1]; ++y)
      for (long long x = box->begin[0]; x < box->end[0]; ++x)
        for (int k = 0; k <= n; ++k)
          for (int j = 0; j <= n; ++j)
            for (int i = 0; i <= n; ++i) *next++ = node_at(box, (long long[axes]){x * n + i, y * n + j, z * n + k});
}

static struct gs_data *set_up(const struct node *nodes, size_t count, const struct comm *comm) {
  slong *ids = memory(count * sizeof *ids);
  for (size_t i = 0; i < count; ++i) ids[i] = (slong)nodes[i].id + 1; /* gslib ignores id 0 */
  struct gs_data *handle = gs_setup(ids, (uint)count, comm, 0, gs_pairwise, 0);
  free(ids);
  return handle;
}

/* Whole numbers, of which sums are exact. */
static double value_of(const struct node *node, int sample) {
  return (double)((node->id * 2654435761U + (unsigned)sample * 40503U) >> 24);
}

static double sampled(const struct node *nodes, size_t count, double *values, int sample, struct gs_data *handle) {
  for (size_t i = 0; i < count; ++i) values[i] = value_of(&nodes[i], sample);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  gs(values, gs_double, gs_add, 0, handle, NULL);
  const double mine = MPI_Wtime() - start;
  for (size_t i = 0; i < count; ++i)
    if (values[i] != nodes[i].copies * value_of(&nodes[i], sample)) MPI_Abort(MPI_COMM_WORLD, wrong);
  double slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  struct comm comm;
  comm_init(&comm, MPI_COMM_WORLD);
  if (argc != 7 || atoll(argv[1]) % comm.np != 0) MPI_Abort(MPI_COMM_WORLD, 2);
  const struct box box = box_of((int)comm.id, (int)comm.np, argv + 1);
  const int warmup = atoi(argv[5]), samples = atoi(argv[6]);
  const size_t count = nodes_in(&box);
  struct node *nodes = memory(count * sizeof *nodes);
  double *values = memory(count * sizeof *values);
  number(&box, nodes);
  struct gs_data *handle = set_up(nodes, count, &comm);
  for (int sample = -warmup; sample < samples; ++sample) {
    const double seconds = sampled(nodes, count, values, sample, handle);
    if (comm.id == 0 && sample >= 0) printf("%.9f\n", seconds);
  }
  gs_free(handle);
  comm_free(&comm);
  MPI_Finalize();
  return 0;
}
