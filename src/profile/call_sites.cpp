#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "profile.hpp"

namespace commlens::profile {
namespace {

/// Addresses of MPICH's Fortran library. Its calls are those of a Fortran program, whose site is
/// wanted.
struct Range {
  std::uintptr_t begin;
  std::uintptr_t end;
  [[nodiscard]] bool holds(std::uintptr_t address) const { return address >= begin && address < end; }
};
constexpr int max_ranges = 4;
Range fortran_ranges[max_ranges] = {};

int add_fortran_range(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto& count = *static_cast<int*>(data);
  const bool is_fortran =
      std::strstr(info->dlpi_name, "libmpichf") != nullptr || std::strstr(info->dlpi_name, "libmpif") != nullptr;
  if (!is_fortran) return 0;
  for (int index = 0; index < info->dlpi_phnum && count < max_ranges; ++index) {
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

std::uintptr_t caller_outside_fortran_library(std::uintptr_t address) {
  constexpr int max_frames = 16;
  void* frames[max_frames];
  const int count = backtrace(frames, max_frames);
  bool was_in_library = false;
  for (int index = 0; index < count; ++index) {
    const auto frame = reinterpret_cast<std::uintptr_t>(frames[index]);
    if (is_in_fortran_library(frame)) {
      was_in_library = true;
    } else if (was_in_library) {
      return frame;
    }
  }
  return address;
}

std::size_t first_slot(std::uintptr_t address, int function) {
  const std::uint64_t mixed = (address ^ (static_cast<std::uint64_t>(function) << 48U)) * 0x9E3779B97F4A7C15U;
  return static_cast<std::size_t>(mixed >> 40U) % max_call_sites;
}

/// Fills the slot that this call has reserved. `function` is stored last: it publishes the slot.
void describe(CallSite& site, std::uintptr_t address, int function) {
  Dl_info info{};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a return address
  if (dladdr(reinterpret_cast<void*>(address), &info) != 0) {
    site.module = info.dli_fname;
    site.base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  }
  site.function.store(function, std::memory_order_release);
}

}  // namespace

void prepare_call_sites() {
  void* frame = nullptr;
  backtrace(&frame, 1);  // loads a library at its first call
  int count = 0;
  dl_iterate_phdr(add_fortran_range, &count);
}

CallSite* find_call_site(int function, void* return_address) {
  auto address = reinterpret_cast<std::uintptr_t>(return_address);
  if (is_in_fortran_library(address)) address = caller_outside_fortran_library(address);
  constexpr int max_probes = 64;
  std::size_t slot = first_slot(address, function);
  for (int probe = 0; probe < max_probes; ++probe, slot = (slot + 1) % max_call_sites) {
    CallSite& site = profile.call_sites[slot];
    std::uintptr_t stored = site.address.load(std::memory_order_acquire);
    if (stored == 0 && site.address.compare_exchange_strong(stored, address)) {
      describe(site, address, function);
      return &site;
    }
    if (stored != address) continue;
    int owner = site.function.load(std::memory_order_acquire);
    while (owner < 0) owner = site.function.load(std::memory_order_acquire);  // another thread is filling it
    if (owner == function) return &site;
  }
  return nullptr;
}

}  // namespace commlens::profile
