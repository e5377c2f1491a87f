#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "profile.hpp"

namespace commlens::profile {
namespace {

/// Where MPICH's Fortran library lies: what it calls was called by a Fortran program, which is who is asked for.
struct Range {
  std::uintptr_t begin;
  std::uintptr_t end;
  [[nodiscard]] bool holds(std::uintptr_t address) const { return address >= begin && address < end; }
};
constexpr int most_ranges = 4;
Range fortran_ranges[most_ranges] = {};

int note_fortran_range(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto& count = *static_cast<int*>(data);
  const bool is_fortran =
      std::strstr(info->dlpi_name, "libmpichf") != nullptr || std::strstr(info->dlpi_name, "libmpif") != nullptr;
  if (!is_fortran) return 0;
  for (int index = 0; index < info->dlpi_phnum && count < most_ranges; ++index) {
    const auto& header = info->dlpi_phdr[index];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    fortran_ranges[count++] = {begin, begin + header.p_memsz};
  }
  return 0;
}

bool is_in_fortran_library(std::uintptr_t address) {
  return std::any_of(std::begin(fortran_ranges), std::end(fortran_ranges),
                     [address](const Range& range) { return range.holds(address); });
}

std::uintptr_t caller_of_fortran_library(std::uintptr_t address) {
  constexpr int most_frames = 16;
  void* frames[most_frames];
  const int count = backtrace(frames, most_frames);
  bool has_passed = false;
  for (int index = 0; index < count; ++index) {
    const auto frame = reinterpret_cast<std::uintptr_t>(frames[index]);
    if (is_in_fortran_library(frame)) {
      has_passed = true;
    } else if (has_passed) {
      return frame;
    }
  }
  return address;
}

std::size_t first_slot(std::uintptr_t address, int function) {
  const std::uint64_t mixed = (address ^ (static_cast<std::uint64_t>(function) << 48U)) * 0x9E3779B97F4A7C15U;
  return static_cast<std::size_t>(mixed >> 40U) % most_call_sites;
}

/// The slot is this call's: looks up where the code lies, and shows the slot to the others last.
void describe(CallSite& site, std::uintptr_t address, int function) {
  Dl_info info{};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it is a return address
  if (dladdr(reinterpret_cast<void*>(address), &info) != 0) {
    site.module = info.dli_fname;
    site.base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  }
  site.function.store(function, std::memory_order_release);
}

}  // namespace

void prepare_call_sites() {
  void* frame = nullptr;
  backtrace(&frame, 1);  // the first call loads a library
  int count = 0;
  dl_iterate_phdr(note_fortran_range, &count);
}

CallSite* find_call_site(int function, void* return_address) {
  auto address = reinterpret_cast<std::uintptr_t>(return_address);
  if (is_in_fortran_library(address)) address = caller_of_fortran_library(address);
  constexpr int most_probes = 64;
  std::size_t slot = first_slot(address, function);
  for (int probe = 0; probe < most_probes; ++probe, slot = (slot + 1) % most_call_sites) {
    CallSite& site = profile.call_sites[slot];
    std::uintptr_t there = site.address.load(std::memory_order_acquire);
    if (there == 0 && site.address.compare_exchange_strong(there, address)) {
      describe(site, address, function);
      return &site;
    }
    if (there != address) continue;
    int owner = site.function.load(std::memory_order_acquire);
    while (owner < 0) owner = site.function.load(std::memory_order_acquire);  // another thread describes it now
    if (owner == function) return &site;
  }
  return nullptr;
}

}  // namespace commlens::profile
