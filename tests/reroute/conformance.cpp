// Functions, types, operations, MPI_IN_PLACE, roots, counts and communicators.
//   conformance device|host|pinned|managed|deviating [few]: with few, not all types and communicators
#include "conformance.hpp"

#include <utility>

#define BOTH(name, ...) (by_mpi ? PMPI_##name(__VA_ARGS__) : MPI_##name(__VA_ARGS__))

namespace {

std::function<Memory(int)> places;

struct Type {
  const char* name;
  MPI_Datatype type;
  std::size_t size;
  std::function<void(char*, std::size_t, int)> fill;
};

template <class Number>
Type type(const char* name, MPI_Datatype datatype) {
  return {name, datatype, sizeof(Number), [](char* data, std::size_t bytes, int salt) {
            for (std::size_t index = 0; index < bytes / sizeof(Number); ++index) {
              const auto value = static_cast<Number>(1 + (index + static_cast<std::size_t>(salt + world_rank())) % 3);
              std::memcpy(data + index * sizeof value, &value, sizeof value);
            }
          }};
}

struct Operation {
  const char* name;
  MPI_Op op;
};
const Operation operations[] = {{"sum", MPI_SUM}, {"product", MPI_PROD}, {"minimum", MPI_MIN}, {"maximum", MPI_MAX}};

void run(const std::string& name, const Type& type, std::size_t sent, std::size_t received, bool is_in_place,
         std::function<int(bool, const void*, void*)> call) {
  check({name + " of " + type.name + (is_in_place ? " in place" : ""), sent * type.size, received * type.size,
         std::move(call), type.fill, is_in_place},
        places);
}

void reductions(MPI_Comm comm, const Type& t, const Operation& o, int count) {
  const int ranks = size_of(comm);
  const auto n = static_cast<std::size_t>(count);
  const auto all = n * static_cast<std::size_t>(ranks);
  const std::string suffix = std::string(" ") + o.name + " " + std::to_string(count);
  for (const bool in_place : {false, true}) {
    run("Allreduce" + suffix, t, n, n, in_place, [=](bool by_mpi, const void* send, void* receive) {
      return BOTH(Allreduce, send, receive, count, t.type, o.op, comm);
    });
    run("Reduce_scatter_block" + suffix, t, all, in_place ? all : n, in_place,
        [=](bool by_mpi, const void* send, void* receive) {
          const int error = BOTH(Reduce_scatter_block, send, receive, count, t.type, o.op, comm);
          // What MPI leaves behind its result in place is its own affair.
          if (in_place) std::memset(static_cast<char*>(receive) + n * t.size, 0, (all - n) * t.size);
          return error;
        });
    for (const bool is_even : {false, true}) {
      std::vector<int> counts(static_cast<std::size_t>(ranks), count);
      if (!is_even) counts.front() += 2;
      const std::size_t total = all + (is_even ? 0 : 2);
      const auto own = static_cast<std::size_t>(counts[static_cast<std::size_t>(rank_of(comm))]);
      run("Reduce_scatter" + suffix, t, total, in_place ? total : own, in_place,
          [=](bool by_mpi, const void* send, void* receive) {
            const int error = BOTH(Reduce_scatter, send, receive, counts.data(), t.type, o.op, comm);
            if (in_place) std::memset(static_cast<char*>(receive) + own * t.size, 0, (total - own) * t.size);
            return error;
          });
    }
    for (int root = 0; root < ranks; ++root) {
      const bool is_root = rank_of(comm) == root;
#ifdef MPICH_VERSION
      if (in_place && root > 0 && count > 500) continue;  // MPICH 4.0.2 itself dies of it
#endif
      run("Reduce to " + std::to_string(root) + suffix, t, n, is_root ? n : 0, in_place && is_root,
          [=](bool by_mpi, const void* send, void* receive) {
            return BOTH(Reduce, send, is_root ? receive : nullptr, count, t.type, o.op, root, comm);
          });
    }
  }
}

void copies_to_all(MPI_Comm comm, const Type& t, int count) {
  const int ranks = size_of(comm);
  const int rank = rank_of(comm);
  const auto n = static_cast<std::size_t>(count);
  const auto all = n * static_cast<std::size_t>(ranks);
  for (const bool in_place : {false, true}) {
    run("Allgather " + std::to_string(count), t, n, all, in_place, [=](bool by_mpi, const void* send, void* receive) {
      return BOTH(Allgather, send, count, t.type, receive, count, t.type, comm);
    });
    std::vector<int> counts;
    std::vector<int> places_of;  // in reverse order, with a gap between them
    for (int other = 0; other < ranks; ++other) counts.push_back(count == 0 ? 0 : count + other % 2);
    for (int other = 0; other < ranks; ++other) places_of.push_back((ranks - 1 - other) * (count + 2));
    run("Allgatherv " + std::to_string(count), t, static_cast<std::size_t>(counts[static_cast<std::size_t>(rank)]),
        static_cast<std::size_t>(ranks * (count + 2)), in_place, [=](bool by_mpi, const void* send, void* receive) {
          return BOTH(Allgatherv, send, counts[static_cast<std::size_t>(rank)], t.type, receive, counts.data(),
                      places_of.data(), t.type, comm);
        });
    run("Alltoall " + std::to_string(count), t, all, all, in_place, [=](bool by_mpi, const void* send, void* receive) {
      return BOTH(Alltoall, send, count, t.type, receive, count, t.type, comm);
    });
  }
  std::vector<int> sent;
  std::vector<int> received;
  std::vector<int> sent_at;
  std::vector<int> received_at;
  for (int other = 0; other < ranks; ++other) {
    sent.push_back(count * ((rank + 2 * other + 1) % 3));
    received.push_back(count * ((other + 2 * rank + 1) % 3));
    sent_at.push_back(other * 2 * count);
    received_at.push_back((ranks - 1 - other) * 2 * count);
  }
  run("Alltoallv " + std::to_string(count), t, 2 * all, 2 * all, false,
      [=](bool by_mpi, const void* send, void* receive) {
        return BOTH(Alltoallv, send, sent.data(), sent_at.data(), t.type, receive, received.data(), received_at.data(),
                    t.type, comm);
      });
}

void copies_with_root(MPI_Comm comm, const Type& t, int count) {
  const int ranks = size_of(comm);
  const auto n = static_cast<std::size_t>(count);
  const auto all = n * static_cast<std::size_t>(ranks);
  for (int root = 0; root < ranks; ++root) {
    const bool is_root = rank_of(comm) == root;
    const std::string suffix = " of root " + std::to_string(root) + ", " + std::to_string(count);
    run("Bcast" + suffix, t, 0, n, false,
        [=](bool by_mpi, const void*, void* receive) { return BOTH(Bcast, receive, count, t.type, root, comm); });
    for (const bool in_place : {false, true}) {
      run("Gather" + suffix, t, n, is_root ? all : 0, in_place && is_root,
          [=](bool by_mpi, const void* send, void* receive) {
            return BOTH(Gather, send, count, t.type, is_root ? receive : nullptr, count, t.type, root, comm);
          });
      run("Scatter" + suffix, t, is_root ? all : 0, n, false, [=](bool by_mpi, const void* send, void* receive) {
        void* output = in_place && is_root ? MPI_IN_PLACE : receive;
        return BOTH(Scatter, is_root ? send : nullptr, count, t.type, output, count, t.type, root, comm);
      });
    }
  }
}

/// Ranks use different types for the same data: all of them make the same decision.
void other_types_for_the_same_data() {
  constexpr int count = 12;
  MPI_Datatype three;
  MPI_Type_contiguous(3, MPI_INT, &three);
  MPI_Type_commit(&three);
  MPI_Datatype every_second;
  MPI_Type_vector(count, 1, 2, MPI_INT, &every_second);
  MPI_Type_commit(&every_second);
  const auto integers = type<int>("int", MPI_INT);
  const int rank = world_rank();
  for (int repetition = 0; repetition < 4; ++repetition) {
    run("Bcast of other types", integers, 0, 2 * count, false, [=](bool by_mpi, const void*, void* data) {
      if (rank % 3 == 1) return BOTH(Bcast, data, count / 3, three, 0, MPI_COMM_WORLD);
      // With gaps only after all ranks have agreed.
      if (rank % 3 == 2 && repetition > 1) return BOTH(Bcast, data, 1, every_second, 0, MPI_COMM_WORLD);
      return BOTH(Bcast, data, count, MPI_INT, 0, MPI_COMM_WORLD);
    });
  }
  MPI_Type_free(&three);
  MPI_Type_free(&every_second);
}

Memory deviating(int repetition) {
  // After the agreement rank 0, and then another, has its data in memory of the host.
  return repetition >= 1 && (world_rank() + repetition) % 2 == 1 ? Memory::host : Memory::device;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  fake_gpu_use(world_rank());
  const std::string kind = argc > 1 ? argv[1] : "device";
  const Memory memory = kind == "host"      ? Memory::host
                        : kind == "pinned"  ? Memory::pinned
                        : kind == "managed" ? Memory::managed
                                            : Memory::device;
  places = [memory](int) { return memory; };
  if (kind == "deviating") places = deviating;
  const std::vector<Type> types = {
      type<signed char>("signed char", MPI_SIGNED_CHAR),
      type<unsigned char>("unsigned char", MPI_UNSIGNED_CHAR),
      type<int>("int", MPI_INT),
      type<unsigned>("unsigned", MPI_UNSIGNED),
      type<long>("long", MPI_LONG),
      type<unsigned long>("unsigned long", MPI_UNSIGNED_LONG),
      type<float>("float", MPI_FLOAT),
      type<double>("double", MPI_DOUBLE),
      type<short>("short", MPI_SHORT),  // not supported by NCCL
  };
  MPI_Comm reversed;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank(), &reversed);
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank() % 2, 0, &half);
  const bool is_short = argc > 2;
  for (const Type& each : types) {
    if (is_short && each.type != MPI_INT) continue;
    for (const Operation& operation : operations) reductions(MPI_COMM_WORLD, each, operation, 3);
  }
  for (MPI_Comm comm : {MPI_COMM_WORLD, reversed, half, MPI_COMM_SELF}) {
    if (is_short && comm != MPI_COMM_WORLD && comm != reversed) continue;
    for (const int count : {0, 1, 1000}) {
      reductions(comm, types[7], operations[0], count);
      copies_to_all(comm, types[2], count);
      copies_with_root(comm, types[2], count);
    }
  }
  if (kind == "deviating") other_types_for_the_same_data();
  MPI_Comm_free(&reversed);
  MPI_Comm_free(&half);
  MPI_Finalize();
  std::puts("conforms");
  return 0;
}
