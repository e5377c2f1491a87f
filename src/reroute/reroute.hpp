// What the generated functions call, and what the parts of the library share.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mpi_library.hpp"
#include "names.hpp"
#include "preload/clock.hpp"
#include "preload/counting.hpp"
#include "preload/mpi_symbols.hpp"
#include "preload/rank_file.hpp"

namespace commlens::reroute {

using preload::Adder;
using preload::Count;
using preload::find_or_exit;
using preload::key_of;
using preload::ScopedLock;

/// What the program has passed to MPI, under the names of the C binding. Counts are MPI_Count and
/// displacements MPI_Aint where `is_large`.
struct Arguments {
  Function function;
  bool is_large;
  const void* sendbuf = nullptr;
  void* recvbuf = nullptr;
  void* buffer = nullptr;
  void* buf = nullptr;
  MPI_Count count = 0;
  MPI_Count sendcount = 0;
  MPI_Count recvcount = 0;
  const void* sendcounts = nullptr;
  const void* recvcounts = nullptr;
  const void* displs = nullptr;
  const void* sdispls = nullptr;
  const void* rdispls = nullptr;
  MPI_Datatype datatype{};
  MPI_Datatype sendtype{};
  MPI_Datatype recvtype{};
  MPI_Op op{};
  int root = 0;
  int dest = 0;
  int source = 0;
  int tag = 0;
  MPI_Comm comm{};
  MPI_Request* request = nullptr;
  MPI_Status* status = nullptr;
};

/// The buffer of a message, which MPI_Send only reads.
inline void* writable(const void* buffer) { return const_cast<void*>(buffer); }

/// MPI's own function. The generated code has one for each function, and for its large-count form.
using PassOn = int (*)(const Arguments&);
extern constinit const PassOn pass_on_functions[function_count][2];
inline int pass_on(const Arguments& arguments) {
  return pass_on_functions[static_cast<int>(arguments.function)][arguments.is_large ? 1 : 0](arguments);
}

constexpr bool is_nonblocking(Function function) {
  const int number = static_cast<int>(function);
  return number >= collective_count && number < 2 * collective_count;
}
/// The blocking form.
constexpr Function base_of(Function function) {
  const int number = static_cast<int>(function);
  return is_nonblocking(function) ? static_cast<Function>(number - collective_count) : function;
}
constexpr bool is_message(Function function) { return static_cast<int>(function) >= 2 * collective_count; }
constexpr bool is_reduction(Function base) {
  return base == Function::allreduce || base == Function::reduce || base == Function::reduce_scatter ||
         base == Function::reduce_scatter_block;
}
constexpr bool has_root(Function base) {
  return base == Function::reduce || base == Function::bcast || base == Function::gather || base == Function::scatter;
}

struct Settings {
  const char* folder = nullptr;  // null: do nothing
  const char* ccl = nullptr;     // the library's path
  std::uint64_t min_bytes = 65536;
  bool to_staged = false;
  bool verify = false;
  bool dry_run = false;
  bool chosen[function_count] = {};
};

/// The calls of one function.
struct Tally {
  Count calls;
  Count bytes;
  Count rerouted_calls;
  Count rerouted_bytes;
  Count rerouted_ticks;
  Count mpi_ticks;       // of calls that were passed on
  Count estimate_ticks;  // that MPI would have taken for the rerouted calls
  Count measured_calls;
  Count local_copies;
  Count fell_back[reason_count];
};

/// Global because the functions are C functions that the program calls: they receive no object.
struct Reroute {
  Settings settings;
  bool is_started = false;              // MPI has been, and the report has not been written
  std::atomic<bool> is_active = false;  // calls are looked at
  bool is_multithreaded = false;
  bool has_foreign_waits = false;  // another layer may complete requests without ours
  int rank = 0;
  int ranks = 1;
  std::uint64_t loaded_ns = 0;  // since 1970
  std::uint64_t started_ticks = 0;
  Count setup_ticks;  // agreements, and making communicators of NCCL
  preload::Clock clock;
  MpiLibrary mpi{};
  char mpi_name[256] = {};
  preload::RankFile file;
  char disabled[512] = {};  // why nothing is rerouted
  Tally tallies[function_count] = {};

  [[nodiscard]] Adder adder() const { return Adder(is_multithreaded); }
  [[nodiscard]] Tally& tally(Function function) { return tallies[static_cast<int>(function)]; }
};
extern constinit Reroute reroute;

/// Adds the time for which it exists.
class ScopedTime {
 public:
  ScopedTime(Count& total, Adder adder) : total_(total), adder_(adder) {}
  ~ScopedTime() { adder_.add(total_, reroute.clock.ticks() - start_); }
  ScopedTime(ScopedTime&&) = delete;

 private:
  Count& total_;
  Adder adder_;
  std::uint64_t start_ = reroute.clock.ticks();
};

inline bool is_active() { return reroute.is_active.load(std::memory_order_relaxed); }

/// A call of one of the functions: through NCCL, or by MPI.
int call(const Arguments& arguments);

/// What is done before or after other functions.
namespace hook {
void started();
void finalizing();
void aborting();
}  // namespace hook

/// Whether it is the address of a function of this library.
bool is_in_library(const void* address);

/// The first reason stands.
[[gnu::format(printf, 1, 2)]] void disable(const char* format, ...);
/// One line for the user on standard error.
[[gnu::format(printf, 1, 2)]] void print_line(const char* format, ...);

}  // namespace commlens::reroute
