// What MPI allows a program's threads to do. More of it may cost time in each call.
#pragma once

#include "base/enum_names.hpp"

namespace commlens::transport {

/// In the order of MPI: each allows what those before it do.
enum class ThreadLevel { single, funneled, serialized, multiple };
ENUM_NAMES(ThreadLevel, {single, "single"}, {funneled, "funneled"}, {serialized, "serialized"}, {multiple, "multiple"});

/// MPI's constant: MPI_THREAD_SINGLE ...
int native(ThreadLevel level);
/// That MPI provides, once it is initialized.
ThreadLevel provided_thread_level();

}  // namespace commlens::transport
