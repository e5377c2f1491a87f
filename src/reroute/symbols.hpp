// Functions of a library that was opened.
#pragma once

#include <dlfcn.h>

namespace commlens::reroute {

/// Whether the library has it.
template <class Result>
bool find_symbol(void* library, Result& function, const char* name) {
  function = reinterpret_cast<Result>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace commlens::reroute
