#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
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

constexpr std::uint64_t mixer = 0x9E3779B97F4A7C15U;

/// The return addresses that distinguish a call site: that of the caller, then those of its callers.
struct Addresses {
  std::uintptr_t values[max_call_depth];
  int count;

  [[nodiscard]] std::uint64_t key(int function) const {
    auto mixed = static_cast<std::uint64_t>(function) + 1;
    for (int index = 0; index < count; ++index) mixed = (mixed ^ values[index]) * mixer ^ (mixed >> 29U);
    return mixed != 0 ? mixed : 1;
  }
};

/// Walks the stack, which takes a microsecond or more. `address` is that of the wrapper's caller.
Addresses walk_stack(std::uintptr_t address) {
  constexpr int max_frames = 16 + max_call_depth;
  void* frames[max_frames];
  const int count = backtrace(frames, max_frames);
  const auto at = [&](int index) { return reinterpret_cast<std::uintptr_t>(frames[index]); };
  int index = 0;
  while (index < count && at(index) != address) ++index;
  while (index < count && is_in_fortran_library(at(index))) ++index;
  Addresses addresses{{address}, 1};
  for (addresses.count = 0; index < count && addresses.count < profile.call_depth; ++index) {
    addresses.values[addresses.count++] = at(index);
  }
  if (addresses.count == 0) addresses = {{address}, 1};
  return addresses;
}

/// Fills the slot that this call has reserved. `function` is stored last: it publishes the slot.
void describe(int slot, const Addresses& addresses, int function) {
  Frame* frames = profile.frames + static_cast<std::ptrdiff_t>(slot) * profile.call_depth;
  for (int index = 0; index < addresses.count; ++index) {
    frames[index] = {addresses.values[index], nullptr, 0};
    Dl_info info{};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a return address
    if (dladdr(reinterpret_cast<void*>(addresses.values[index]), &info) != 0) {
      frames[index].module = info.dli_fname;
      frames[index].base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    }
  }
  profile.call_sites[slot].function.store(function + 1, std::memory_order_release);
}

}  // namespace

void prepare_call_sites() {
  void* frame = nullptr;
  backtrace(&frame, 1);  // loads a library at its first call
  int count = 0;
  dl_iterate_phdr(add_fortran_range, &count);
}

CallSite* find_call_site(int function, void* return_address) {
  const auto address = reinterpret_cast<std::uintptr_t>(return_address);
  const bool needs_stack = profile.call_depth > 1 || is_in_fortran_library(address);
  const Addresses addresses = needs_stack ? walk_stack(address) : Addresses{{address}, 1};
  const std::uint64_t key = addresses.key(function);
  constexpr int max_probes = 64;
  auto slot = static_cast<int>((key >> 32U) % max_call_sites);
  for (int probe = 0; probe < max_probes; ++probe, slot = (slot + 1) % max_call_sites) {
    CallSite& site = profile.call_sites[slot];
    std::uint64_t stored = site.key.load(std::memory_order_acquire);
    if (stored == 0 && site.key.compare_exchange_strong(stored, key)) {
      describe(slot, addresses, function);
      return &site;
    }
    if (stored == key) return &site;
  }
  return nullptr;
}

}  // namespace commlens::profile
