// Collectives on device memory, checked and timed: a program that knows nothing of commlens reroute (reroute.sh).
// Rank 0 prints one JSON object: the median time of each function and size.
//   reroute [LARGEST_BYTES [nonblocking]]: not all MPIs take device memory in non-blocking collectives
#include <cuda_runtime.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CALL(call)                                                                 \
  do {                                                                             \
    const int error_ = (int)(call);                                                \
    if (error_ != 0) {                                                             \
      fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, error_); \
      MPI_Abort(MPI_COMM_WORLD, 2);                                                \
    }                                                                              \
  } while (0)

enum { MOST_ITERATIONS = 20 };
static int rank, ranks;
static float *input, *output;  // on the device
static float* host;

// What rank `from` has in element `index`: small integers, so that sums are exact.
static float value_of(int from, size_t index) { return (float)((index + 3 * (size_t)from) % 7); }

static float sum_of(size_t index) {
  float sum = 0;
  for (int from = 0; from < ranks; ++from) sum += value_of(from, index);
  return sum;
}

typedef struct {
  const char* name;
  void (*call)(size_t elements);
  float (*expected)(size_t index, size_t elements);
} Function;

static void allreduce(size_t n) { CALL(MPI_Allreduce(input, output, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD)); }
static void iallreduce(size_t n) {
  MPI_Request request;
  CALL(MPI_Iallreduce(input, output, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request));
  CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
}
static void bcast(size_t n) {
  // Rank 0 sends its input.
  CALL(MPI_Bcast(rank == 0 ? input : output, (int)n, MPI_FLOAT, 0, MPI_COMM_WORLD));
}
static void allgather(size_t n) {
  const int own = (int)(n / (size_t)ranks);
  CALL(MPI_Allgather(input, own, MPI_FLOAT, output, own, MPI_FLOAT, MPI_COMM_WORLD));
}
static void alltoall(size_t n) {
  const int each = (int)(n / (size_t)ranks);
  CALL(MPI_Alltoall(input, each, MPI_FLOAT, output, each, MPI_FLOAT, MPI_COMM_WORLD));
}

static float of_reduction(size_t index, size_t n) {
  (void)n;
  return sum_of(index);
}
static float of_bcast(size_t index, size_t n) {
  (void)n;
  return rank == 0 ? 0 : value_of(0, index);  // rank 0 receives nothing
}
static float of_allgather(size_t index, size_t n) {
  const size_t own = n / (size_t)ranks;
  return value_of((int)(index / own), index % own);
}
static float of_alltoall(size_t index, size_t n) {
  const size_t each = n / (size_t)ranks;
  return value_of((int)(index / each), (size_t)rank * each + index % each);
}

static const Function functions[] = {{"MPI_Allreduce", allreduce, of_reduction},
                                     {"MPI_Bcast", bcast, of_bcast},
                                     {"MPI_Allgather", allgather, of_allgather},
                                     {"MPI_Alltoall", alltoall, of_alltoall},
                                     {"MPI_Iallreduce", iallreduce, of_reduction}};
static const size_t sizes[] = {8, 64, 512, 4096, 32768, 262144, 2 << 20, 16 << 20, 80 << 20, 256 << 20};

static int is_right(const Function* function, size_t n) {
  CALL(cudaMemcpy(host, output, n * sizeof *host, cudaMemcpyDeviceToHost));
  const size_t used = n / (size_t)ranks * (size_t)ranks;
  for (size_t index = 0; index < used; ++index) {
    if (host[index] == function->expected(index, used)) continue;
    fprintf(stderr, "%s of %zu bytes, rank %d: element %zu is %g instead of %g\n", function->name, n * sizeof *host,
            rank, index, host[index], function->expected(index, used));
    return 0;
  }
  return 1;
}

static int compare(const void* one, const void* other) {
  const double a = *(const double*)one;
  const double b = *(const double*)other;
  return (a > b) - (a < b);
}

static int measure(const Function* function, size_t bytes, int is_first) {
  const size_t n = bytes / sizeof *host;
  const int iterations = bytes <= (1 << 20) ? MOST_ITERATIONS : 4;
  double times[MOST_ITERATIONS];
  CALL(cudaMemset(output, 0, bytes));
  for (int round = -2; round < iterations; ++round) {  // two to warm up
    CALL(cudaDeviceSynchronize());
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    const double start = MPI_Wtime();
    function->call(n);
    if (round >= 0) times[round] = MPI_Wtime() - start;
  }
  int right = is_right(function, n);
  CALL(MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  qsort(times, (size_t)iterations, sizeof *times, compare);
  if (rank == 0) {
    printf("%s\n  {\"function\": \"%s\", \"bytes\": %zu, \"median_us\": %.2f, \"valid\": %s}", is_first ? "" : ",",
           function->name, bytes, (times[(iterations - 1) / 2] + times[iterations / 2]) / 2 * 1e6,
           right ? "true" : "false");
    fflush(stdout);
  }
  return right;
}

int main(int argc, char** argv) {
  CALL(MPI_Init(&argc, &argv));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const size_t largest = argc > 1 ? strtoull(argv[1], NULL, 10) : (size_t)256 << 20;
  MPI_Comm node;
  int local = 0;
  int devices = 0;
  CALL(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  MPI_Comm_rank(node, &local);
  MPI_Comm_free(&node);
  CALL(cudaGetDeviceCount(&devices));
  CALL(cudaSetDevice(local % devices));
  CALL(cudaMalloc((void**)&input, largest));
  CALL(cudaMalloc((void**)&output, largest));
  host = malloc(largest);
  for (size_t index = 0; index < largest / sizeof *host; ++index) host[index] = value_of(rank, index);
  CALL(cudaMemcpy(input, host, largest, cudaMemcpyHostToDevice));
  struct cudaDeviceProp properties;
  CALL(cudaGetDeviceProperties(&properties, local % devices));
  if (rank == 0) {
    printf("{\"ranks\": %d, \"gpus\": %d, \"gpu\": \"%s\", \"rows\": [", ranks, devices, properties.name);
  }
  int right = 1;
  const int count = (int)(sizeof functions / sizeof *functions) - (argc > 2 ? 0 : 1);
  for (int number = 0; number < count; ++number) {
    for (size_t size = 0; size < sizeof sizes / sizeof *sizes && sizes[size] <= largest; ++size) {
      right &= measure(&functions[number], sizes[size], number == 0 && size == 0);
    }
  }
  if (rank == 0) printf("\n]}\n");
  cudaFree(input);
  cudaFree(output);
  free(host);
  MPI_Finalize();
  return right ? 0 : 1;
}
