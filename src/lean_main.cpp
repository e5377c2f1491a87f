// commlens-bench: the benchmarks that time single MPI calls, in a process with as few shared libraries as an
// application's kernel has. A CUDA-aware Open MPI asks CUDA about every buffer, and the answer takes longer the more
// libraries are loaded. For all other benchmarks commlens-bench-all replaces this process, before MPI is initialised.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "harness/application.hpp"
#include "harness/benchmark.hpp"
#include "harness/case_loop.hpp"

namespace {

bool is_here(std::string_view word) {
  const auto& all = commlens::benchmarks();
  return word == "probe" ||
         std::any_of(all.begin(), all.end(), [&](const auto& benchmark) { return benchmark.name == word; });
}

int run_all(char** argv) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error).replace_filename("commlens-bench-all");
  execv(program.c_str(), argv);
  std::fprintf(stderr, "commlens: %s cannot be started (%s): keep it beside commlens-bench\n", program.c_str(),
               std::strerror(errno));
  return static_cast<int>(commlens::Exit::usage);
}

}  // namespace

int main(int argc, char** argv) {
  return argc > 1 && is_here(argv[1]) ? commlens::run_application(argc, argv) : run_all(argv);
}
