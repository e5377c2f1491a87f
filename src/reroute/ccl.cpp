#include "ccl.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "reroute.hpp"
#include "symbols.hpp"

namespace commlens::reroute {

constinit CclLibrary ccl = {};

namespace {

constexpr int oldest = 2700;  // with ncclSend and ncclRecv

constexpr const char* files[] = {"libnccl.so.2", "librccl.so.1"};

/// Two users of the GPU that know nothing of each other can wait for each other.
bool is_loaded_by_program() {
  const auto* loaded = std::find_if(std::begin(files), std::end(files),
                                    [](const char* file) { return dlopen(file, RTLD_LAZY | RTLD_NOLOAD) != nullptr; });
  if (loaded == std::end(files)) return false;
  disable("the program uses %s itself", *loaded);
  return true;
}

void* open_library(const char*& file) {
  if (reroute.settings.ccl != nullptr) {
    file = reroute.settings.ccl;
    return dlopen(file, RTLD_NOW | RTLD_LOCAL);
  }
  for (const char* each : files) {
    file = each;
    if (void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

bool find_functions(void* library) {
  return find_symbol(library, ccl.get_unique_id, "ncclGetUniqueId") &&
         find_symbol(library, ccl.init_rank, "ncclCommInitRank") && find_symbol(library, ccl.abort, "ncclCommAbort") &&
         find_symbol(library, ccl.get_async_error, "ncclCommGetAsyncError") &&
         find_symbol(library, ccl.get_error_string, "ncclGetErrorString") &&
         find_symbol(library, ccl.all_reduce, "ncclAllReduce") && find_symbol(library, ccl.reduce, "ncclReduce") &&
         find_symbol(library, ccl.reduce_scatter, "ncclReduceScatter") &&
         find_symbol(library, ccl.broadcast, "ncclBroadcast") &&
         find_symbol(library, ccl.all_gather, "ncclAllGather") && find_symbol(library, ccl.send, "ncclSend") &&
         find_symbol(library, ccl.recv, "ncclRecv") && find_symbol(library, ccl.group_start, "ncclGroupStart") &&
         find_symbol(library, ccl.group_end, "ncclGroupEnd");
}

/// ncclGetVersion's number: 2.8.4 is 2804, and 2.9.6 is 20906.
void name_library(const char* kind, int version) {
  const int major = version < 10000 ? version / 1000 : version / 10000;
  const int minor = version < 10000 ? version / 100 % 10 : version / 100 % 100;
  std::snprintf(ccl.name, sizeof ccl.name, "%s %d.%d.%d", kind, major, minor, version % 100);
}

bool open_any() {
  if (is_loaded_by_program()) return false;
  const char* file = nullptr;
  void* library = open_library(file);
  if (library == nullptr) {
    const char* error = dlerror();
    const char* asked = reroute.settings.ccl != nullptr ? file : "libnccl.so.2 and librccl.so.1";
    disable("%s cannot be loaded (%s): set COMMLENS_REROUTE_NCCL to the library", asked,
            error != nullptr ? error : "unknown error");
    return false;
  }
  int version = 0;
  if (!find_symbol(library, ccl.get_version, "ncclGetVersion") || ccl.get_version(&version) != 0) {
    disable("%s is not NCCL: set COMMLENS_REROUTE_NCCL to the library", file);
    return false;
  }
  name_library(std::strstr(file, "rccl") != nullptr ? "RCCL" : "NCCL", version);
  if (version >= oldest && find_functions(library)) return true;
  disable("%s is too old (%s): set COMMLENS_REROUTE_NCCL to 2.7 or later", file, ccl.name);
  return false;
}

}  // namespace

bool open_ccl() {
  static std::atomic_flag lock = ATOMIC_FLAG_INIT;
  static std::atomic<int> state = 0;  // 1: opened, 2: cannot be
  const ScopedLock locked(lock);
  if (state == 0) state = open_any() ? 1 : 2;
  return state == 1;
}

}  // namespace commlens::reroute
