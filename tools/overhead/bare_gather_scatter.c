/* gslib's pairwise gather-scatter, written from its definition (Nek5000's gslib, gs_op with gs_add
 * on doubles). A map is a list of lists of indices, each ended by `end`. Every rank
 *   gathers    adds the copies of a node, in their order, to the first of them
 *   exchanges  posts receives, copies the sums that others need to a message each, and sends these
 *   adds       waits for all messages and adds them to its own sums
 *   scatters   copies each sum to the other copies
 * Lists are in the order of their first copies, messages in the order of ranks and global ids,
 * indices have 32 bits, as in gs_setup. Global ids are those of a mesh, as in commlens: a block of
 * elements per rank, nodes element by element, ids of the lattice.
 *
 *   mpirun -n P bare_gather_scatter NX NY NZ ORDER SAMPLES     prints "NAME MICROSECONDS" lines
 *
 * A sample is one gather-scatter after a barrier, of nodes that have just been written, and the
 * maximum over ranks. Printed are medians: of the whole, of the exchange and of the rest. Every
 * sample is validated.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { axes = 3, warmup = 3 };
static const uint32_t end = UINT32_MAX;

static void *memory(size_t bytes) {
  void *data = NULL;
  if (posix_memalign(&data, 4096, bytes + 1) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  return data;
}

/* ---- the operation ---- */

static void gather(double *to, const double *from, const uint32_t *map) {
  for (uint32_t place; (place = *map++) != end;) {
    double sum = to[place];
    uint32_t other = *map++;
    do sum += from[other];
    while ((other = *map++) != end);
    to[place] = sum;
  }
}

static void scatter(double *to, const double *from, const uint32_t *map) {
  for (uint32_t place; (place = *map++) != end;) {
    const double value = from[place];
    uint32_t other = *map++;
    do to[other] = value;
    while ((other = *map++) != end);
  }
}

struct messages {
  int count;
  int *rank;
  int *size; /* in values */
  uint32_t total;
  uint32_t *map; /* of a shared node: its places in the messages */
  double *in;
  double *out;
  MPI_Request *requests;
};

static void receive(const struct messages *all) {
  double *place = all->in;
  for (int i = 0; i < all->count; place += all->size[i++])
    MPI_Irecv(place, all->size[i], MPI_DOUBLE, all->rank[i], 0, MPI_COMM_WORLD, &all->requests[i]);
}

static void send(const struct messages *all) {
  const double *place = all->out;
  for (int i = 0; i < all->count; place += all->size[i++])
    MPI_Isend(place, all->size[i], MPI_DOUBLE, all->rank[i], 0, MPI_COMM_WORLD,
              &all->requests[all->count + i]);
}

enum { whole, exchange, rest, times };
static const char *const names[times] = {"whole", "exchange", "rest"};

static void gather_scatter(double *data, const uint32_t *copies, const struct messages *all,
                           double seconds[times]) {
  const double start = MPI_Wtime();
  gather(data, data, copies);
  const double gathered = MPI_Wtime();
  receive(all);
  const double posted = MPI_Wtime();
  scatter(all->out, data, all->map);
  const double packed = MPI_Wtime();
  send(all);
  MPI_Waitall(2 * all->count, all->requests, MPI_STATUSES_IGNORE);
  const double come = MPI_Wtime();
  gather(data, all->in, all->map);
  scatter(data, data, copies);
  const double done = MPI_Wtime();
  seconds[whole] = done - start;
  seconds[exchange] = (posted - gathered) + (come - packed);
  seconds[rest] = seconds[whole] - seconds[exchange];
}

/* ---- the mesh ---- */

struct block {
  int64_t begin[axes], end[axes]; /* in elements; its points are begin * order ... end * order */
};

static int64_t points(const struct block *block, int order, int axis) {
  return (block->end[axis] - block->begin[axis]) * order + 1;
}

/* The ranks in x, y and z whose blocks have the least surface; of equals more in x than in y than
 * in z. */
static void divide(const int64_t elements[axes], int ranks, int parts[axes]) {
  double least = -1;
  for (int x = ranks; x > 0; --x) {
    for (int y = ranks; y > 0; --y) {
      if (ranks % (x * y) != 0) continue;
      const int z = ranks / (x * y);
      if (elements[0] % x != 0 || elements[1] % y != 0 || elements[2] % z != 0) continue;
      const double a = (double)elements[0] / x, b = (double)elements[1] / y,
                   c = (double)elements[2] / z;
      const double surface = a * b + b * c + c * a;
      if (least >= 0 && surface > least * (1 - 1e-12)) continue;
      least = surface;
      parts[0] = x, parts[1] = y, parts[2] = z;
    }
  }
  if (least < 0) MPI_Abort(MPI_COMM_WORLD, 2);
}

static struct block block_of(int rank, const int64_t elements[axes], const int parts[axes]) {
  const int place[axes] = {rank % parts[0], rank / parts[0] % parts[1], rank / parts[0] / parts[1]};
  struct block block;
  for (int axis = 0; axis < axes; ++axis) {
    const int64_t length = elements[axis] / parts[axis];
    block.begin[axis] = place[axis] * length;
    block.end[axis] = block.begin[axis] + length;
  }
  return block;
}

/* Of each node, element by element: the number of its point among the block's. */
static uint32_t *points_of_nodes(const struct block *block, int order, size_t nodes) {
  uint32_t *of = memory(nodes * sizeof *of);
  const int64_t row = points(block, order, 0), plane = row * points(block, order, 1);
  const int64_t *b = block->begin, *e = block->end;
  size_t node = 0;
  for (int64_t z = 0; z < e[2] - b[2]; ++z)
    for (int64_t y = 0; y < e[1] - b[1]; ++y)
      for (int64_t x = 0; x < e[0] - b[0]; ++x)
        for (int k = 0; k <= order; ++k)
          for (int j = 0; j <= order; ++j)
            for (int i = 0; i <= order; ++i)
              of[node++] =
                  (uint32_t)((z * order + k) * plane + (y * order + j) * row + x * order + i);
  return of;
}

/* The nodes of each point, ascending: those of point p are nodes[first[p]] ... nodes[first[p + 1] -
 * 1]. */
struct copies {
  uint32_t *first;
  uint32_t *nodes;
};

static struct copies copies_of(const uint32_t *of, size_t nodes, size_t all_points) {
  struct copies copies = {calloc(all_points + 2, sizeof(uint32_t)),
                          memory(nodes * sizeof(uint32_t))};
  for (size_t node = 0; node < nodes; ++node) ++copies.first[of[node] + 2];
  for (size_t point = 2; point < all_points + 2; ++point)
    copies.first[point] += copies.first[point - 1];
  for (size_t node = 0; node < nodes; ++node)
    copies.nodes[copies.first[of[node] + 1]++] = (uint32_t)node;
  return copies;
}

static uint32_t *map_of_copies(const uint32_t *of, size_t nodes, const struct copies *copies) {
  uint32_t *map = memory(2 * nodes * sizeof *map), *next = map;
  for (size_t node = 0; node < nodes; ++node) {
    const uint32_t begin = copies->first[of[node]], behind = copies->first[of[node] + 1];
    if (behind - begin < 2 || copies->nodes[begin] != node) continue;
    for (uint32_t i = begin; i < behind; ++i) *next++ = copies->nodes[i];
    *next++ = end;
  }
  *next = end;
  return map;
}

/* What a message is made of: the points that two blocks have in common, in the order of ids. */
static uint32_t common_points(const struct block *mine, const struct block *others, int order,
                              uint32_t *list) {
  int64_t low[axes], high[axes];
  for (int axis = 0; axis < axes; ++axis) {
    low[axis] =
        order * (mine->begin[axis] > others->begin[axis] ? mine->begin[axis] : others->begin[axis]);
    high[axis] =
        order * (mine->end[axis] < others->end[axis] ? mine->end[axis] : others->end[axis]);
  }
  const int64_t row = points(mine, order, 0), plane = row * points(mine, order, 1);
  const int64_t *b = mine->begin;
  uint32_t count = 0;
  for (int64_t z = low[2]; z <= high[2]; ++z)
    for (int64_t y = low[1]; y <= high[1]; ++y)
      for (int64_t x = low[0]; x <= high[0]; ++x, ++count)
        if (list != NULL)
          list[count] =
              (uint32_t)((z - b[2] * order) * plane + (y - b[1] * order) * row + x - b[0] * order);
  return count;
}

static struct messages messages_of(int me, int ranks, int order, const int64_t elements[axes],
                                   const int parts[axes], const struct copies *copies,
                                   const uint32_t *of, size_t nodes, size_t all_points,
                                   unsigned char *more) {
  struct messages all = {0};
  const struct block mine = block_of(me, elements, parts);
  all.rank = memory((size_t)ranks * sizeof(int));
  all.size = memory((size_t)ranks * sizeof(int));
  all.requests = memory(2 * (size_t)ranks * sizeof(MPI_Request));
  uint32_t **lists = memory((size_t)ranks * sizeof *lists);
  uint32_t *first = calloc(all_points + 2, sizeof *first); /* of the places of a point */
  for (int rank = 0; rank < ranks; ++rank) {
    const struct block block = block_of(rank, elements, parts);
    const uint32_t count = rank == me ? 0 : common_points(&mine, &block, order, NULL);
    if (count == 0) continue;
    uint32_t *list = lists[all.count] = memory(count * sizeof *list);
    common_points(&mine, &block, order, list);
    for (uint32_t i = 0; i < count; ++i) ++first[list[i] + 2];
    all.rank[all.count] = rank;
    all.size[all.count++] = (int)count;
    all.total += count;
    /* for the validation: how many nodes of the other rank a point has */
    for (uint32_t i = 0; i < count; ++i) {
      const int64_t row = points(&mine, order, 0), plane = row * points(&mine, order, 1);
      const int64_t at[axes] = {list[i] % row, list[i] % plane / row, list[i] / plane};
      unsigned char factor = 1;
      for (int axis = 0; axis < axes; ++axis) {
        const int64_t point = at[axis] + mine.begin[axis] * order;
        const int inside = point > block.begin[axis] * order && point < block.end[axis] * order;
        if (inside && point % order == 0) factor *= 2;
      }
      more[list[i]] = (unsigned char)(more[list[i]] + factor);
    }
  }
  for (size_t point = 2; point < all_points + 2; ++point) first[point] += first[point - 1];
  uint32_t *places = memory(all.total * sizeof *places), place = 0;
  for (int i = 0; i < all.count; ++i)
    for (int value = 0; value < all.size[i]; ++value)
      places[first[lists[i][value] + 1]++] = place++;
  uint32_t *next = all.map = memory((3 * (size_t)all.total + 1) * sizeof *next);
  for (size_t node = 0; node < nodes; ++node) {
    const uint32_t point = of[node];
    if (first[point] == first[point + 1] || copies->nodes[copies->first[point]] != node) continue;
    *next++ = (uint32_t)node;
    for (uint32_t i = first[point]; i < first[point + 1]; ++i) *next++ = places[i];
    *next++ = end;
  }
  *next = end;
  all.in = memory(all.total * sizeof(double));
  all.out = memory(all.total * sizeof(double));
  for (int i = 0; i < all.count; ++i) free(lists[i]);
  free(lists), free(places), free(first);
  return all;
}

/* ---- samples ---- */

/* Of a node: its id, and how many nodes of all ranks have it. Nodes are written and compared by as
 * many bytes and as slowly as commlens does it, so that as much is left in the caches. */
struct known {
  uint32_t id, copies;
};

static double value_of(const struct known *node, int sample) {
  uint64_t bits =
      node->id + (uint64_t)(sample + warmup) * 0x9e3779b97f4a7c15U; /* mixed as SplitMix64 does */
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111ebU;
  bits ^= bits >> 31;
  return (double)(bits % 32) + (double)(bits / 32 % (node->copies + 60));
}

static uint32_t id_of(uint32_t point, const struct block *block, int order,
                      const int64_t elements[axes]) {
  const int64_t row = points(block, order, 0), plane = row * points(block, order, 1);
  const int64_t x = point % row + block->begin[0] * order;
  const int64_t y = point % plane / row + block->begin[1] * order;
  const int64_t z = point / plane + block->begin[2] * order;
  return (uint32_t)((z * (elements[1] * order + 1) + y) * (elements[0] * order + 1) + x);
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int me = 0, ranks = 1, parts[axes];
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 6) MPI_Abort(MPI_COMM_WORLD, 3);
  const int64_t elements[axes] = {atol(argv[1]), atol(argv[2]), atol(argv[3])};
  const int order = atoi(argv[4]), samples = atoi(argv[5]);
  divide(elements, ranks, parts);
  const struct block block = block_of(me, elements, parts);
  size_t nodes = 1, all_points = 1;
  for (int axis = 0; axis < axes; ++axis) {
    nodes *= (size_t)(block.end[axis] - block.begin[axis]) * (size_t)(order + 1);
    all_points *= (size_t)points(&block, order, axis);
  }
  uint32_t *of = points_of_nodes(&block, order, nodes);
  struct copies copies = copies_of(of, nodes, all_points);
  unsigned char *more = calloc(all_points, 1);
  const struct messages all =
      messages_of(me, ranks, order, elements, parts, &copies, of, nodes, all_points, more);
  const uint32_t *map = map_of_copies(of, nodes, &copies);
  struct known *known = memory(nodes * sizeof *known);
  for (size_t node = 0; node < nodes; ++node) {
    const uint32_t here = copies.first[of[node] + 1] - copies.first[of[node]];
    known[node] = (struct known){id_of(of[node], &block, order, elements), here + more[of[node]]};
  }
  free(of), free(copies.first), free(copies.nodes), free(more);

  double *data = memory(nodes * sizeof *data);
  double *seconds[times];
  for (int i = 0; i < times; ++i) seconds[i] = memory((size_t)samples * sizeof(double));
  for (int sample = -warmup; sample < samples; ++sample) {
    for (size_t node = 0; node < nodes; ++node) data[node] = value_of(&known[node], sample);
    MPI_Barrier(MPI_COMM_WORLD);
    double mine[times];
    double largest[times];
    gather_scatter(data, map, &all, mine);
    for (size_t node = 0; node < nodes; ++node)
      if (data[node] != known[node].copies * value_of(&known[node], sample))
        MPI_Abort(MPI_COMM_WORLD, 4);
    MPI_Allreduce(mine, largest, times, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < times && sample >= 0; ++i) seconds[i][sample] = largest[i];
  }
  for (int i = 0; i < times && me == 0; ++i) {
    qsort(seconds[i], (size_t)samples, sizeof(double), ascending);
    printf("%s %.6g\n", names[i],
           (seconds[i][samples / 2] + seconds[i][(samples - 1) / 2]) / 2 * 1e6);
  }
  MPI_Finalize();
  return 0;
}
