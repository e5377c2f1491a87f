#include "regions.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "counters.hpp"
#include "profile.hpp"

namespace commlens::profile {

int Regions::find_or_add(const char* name) {
  const ScopedLock lock(lock_);
  const int used = used_.load(std::memory_order_relaxed);
  for (int index = 0; index < used; ++index) {
    if (std::strcmp(regions_[index].name, name) == 0) return index;
  }
  if (used == max_regions) return -1;
  std::snprintf(regions_[used].name, Region::max_name, "%s", name);
  used_.store(used + 1, std::memory_order_release);
  return used;
}

void Regions::begin(const char* name) {
  Thread& thread = profile.threads.current();
  const int region = thread.open_regions < max_open_regions ? find_or_add(name) : -1;
  const Adder adder(profile.multithreaded);
  if (region < 0) {
    adder.add(dropped_, 1);
    return;
  }
  adder.add(regions_[region].entries, 1);
  thread.regions[thread.open_regions] = region;
  thread.region_since[thread.open_regions] = profile.clock.ticks();
  ++thread.open_regions;
}

void Regions::end(const char* name) {
  Thread& thread = profile.threads.current();
  int first = thread.open_regions - 1;
  while (first >= 0 && std::strcmp(regions_[thread.regions[first]].name, name) != 0) --first;
  if (first < 0) return;  // it was not begun
  const Adder adder(profile.multithreaded);
  const std::uint64_t now = profile.clock.ticks();
  while (thread.open_regions > first) {
    --thread.open_regions;
    adder.add(regions_[thread.regions[thread.open_regions]].ticks, now - thread.region_since[thread.open_regions]);
  }
}

template <class Visit>
void Regions::for_each_open(const Thread& thread, const Visit& visit) {
  for (int open = 0; open < thread.open_regions; ++open) {
    const int region = thread.regions[open];
    bool is_again = false;
    for (int outer = 0; outer < open; ++outer) is_again = is_again || thread.regions[outer] == region;
    if (!is_again) visit(regions_[region]);
  }
}

void Regions::add_call(const Thread& thread, int function, std::uint64_t ticks) {
  const Adder adder(profile.multithreaded);
  for_each_open(thread, [&](Region& region) {
    adder.add(region.functions[function].calls, 1);
    adder.add(region.functions[function].ticks, ticks);
  });
}

void Regions::add_bytes(const Thread& thread, int function, std::uint64_t bytes) {
  const Adder adder(profile.multithreaded);
  for_each_open(thread, [&](Region& region) { adder.add(region.functions[function].bytes, bytes); });
}

namespace {

/// Copies a name that the program may have passed. Without one the argument is garbage, which a
/// system call can read without a crash.
bool copy_name(char (&copy)[Region::max_name], const char* name) {
  const int error = errno;
  const bool is_unreadable = access(name, F_OK) != 0 && errno == EFAULT;
  errno = error;
  int length = 0;
  while (!is_unreadable && length + 1 < Region::max_name && name[length] >= ' ' && name[length] <= '~') {
    copy[length] = name[length];
    ++length;
  }
  copy[length] = '\0';
  return length > 0;
}

void mark_region(int level, const char* name) {
  if (level > 0) {
    profile.regions.begin(name);
  } else if (level < 0) {
    profile.regions.end(name);
  }
}

void mark_numbered_region(int level) {
  char name[Region::max_name];
  std::snprintf(name, sizeof name, "%d", level < 0 ? -level : level);
  mark_region(level, name);
}

}  // namespace

extern "C" {

// MPI_Pcontrol(1, "name") begins a region and MPI_Pcontrol(-1, "name") ends it, as for IPM;
// without a name, and in Fortran, the level is its name.
__attribute__((visibility("default"))) int c_pcontrol(int level, ...) __asm__("MPI_Pcontrol");
int c_pcontrol(int level, ...) {
  if (!profile.active || !profile.records_regions) return MPI_SUCCESS;
  va_list arguments;
  va_start(arguments, level);
  const char* passed = va_arg(arguments, const char*);
  va_end(arguments);
  char name[Region::max_name];
  if ((level == 1 || level == -1) && copy_name(name, passed)) {
    mark_region(level, name);
  } else {
    mark_numbered_region(level);
  }
  return MPI_SUCCESS;
}

__attribute__((visibility("default"))) void fortran_pcontrol(const MPI_Fint* level) __asm__("mpi_pcontrol_");
void fortran_pcontrol(const MPI_Fint* level) {
  if (profile.active && profile.records_regions) mark_numbered_region(*level);
}
__attribute__((visibility("default"), alias("mpi_pcontrol_"))) void fortran_pcontrol_08(const MPI_Fint* level) __asm__(
    "mpi_pcontrol_f08_");

}  // extern "C"
}  // namespace commlens::profile
