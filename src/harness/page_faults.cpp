#include "harness/page_faults.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#include "base/stopwatch.hpp"

namespace commlens {

double page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_minflt);
}

double page_fault_s() {
  constexpr std::size_t pages = 64;
  constexpr int rounds = 9;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    void* const memory = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 0;
    madvise(memory, pages * page, MADV_NOHUGEPAGE);  // otherwise one fault may give several pages
    auto* const bytes = static_cast<volatile char*>(memory);
    const Stopwatch stopwatch;
    for (std::size_t i = 0; i < pages; ++i) bytes[i * page] = 1;
    least = std::min(least, stopwatch.seconds() / pages);
    munmap(memory, pages * page);
  }
  return least;
}

}  // namespace commlens
