// Counters, in static memory of fixed size or mapped when MPI starts: a call allocates nothing.
#pragma once

#include <atomic>
#include <cstdint>

#include "preload/counting.hpp"
#include "preload/memory_kind.hpp"

namespace commlens::profile {

/// A profiled function; the list is generated from functions/.
struct Function {
  const char* name;
  const char* group;
  const char* fields;  // of its events in a trace: a letter for each (docs/trace.md)
};
extern constinit const Function functions[];
extern constinit const int function_count;

using preload::Adder;
using preload::Count;
using preload::memory_kind_count;
using preload::ScopedLock;

constexpr int size_bins = 49;  // bin 0: no bytes; bin b: 2^(b-1) to 2^b - 1; the last: all larger

struct Counters {
  Count calls;
  Count ticks;
  Count max_ticks;
  Count waiting_ticks;
  Count bytes;
  Count communicators;  // calls with a known communicator
  Count communicator_sizes;
  Count smallest_communicator;
  Count largest_communicator;
  Count memory[memory_kind_count];
  Count bins[size_bins];
  Count fastest[size_bins];  // ticks of the fastest call of that size
};

/// A return address.
struct Frame {
  std::uintptr_t address;
  const char* module;   // file of the code
  std::uintptr_t base;  // address at which the file is loaded
};

/// A place in the program that calls an MPI function.
struct CallSite {
  Count key;                  // of function and return addresses, 0: free
  std::atomic<int> function;  // plus 1; 0 until the frames are set
  Count calls;
  Count ticks;
  Count waiting_ticks;
  Count bytes;
};
constexpr int max_call_sites = 2048;
constexpr int max_call_depth = 8;
constexpr int max_functions = 640;  // the generated code checks it

}  // namespace commlens::profile
