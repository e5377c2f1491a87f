// MPI's tool interface (MPI_T; MPI 4.1, chapter 15): what the library tells of itself at run time.
#pragma once

#include <string>
#include <vector>

#include "transport/mpi_library.hpp"

namespace commlens::transport {

/// The tool interface from its initialisation to its end; several may exist at a time. Open MPI 4 loads all components
/// for it. If it exists when MPI_Init is called, they are not loaded a second time, which takes 0.2 s where one of them
/// waits for hardware (libinfinipath).
class ToolInterface {
 public:
  /// `level`: that of MPI itself, requested or provided. Open MPI 4 takes a lower one for that of all its calls, and
  /// locks nothing from then on.
  explicit ToolInterface(ThreadLevel level);
  ToolInterface(ToolInterface&&) = delete;
  ~ToolInterface();

  /// Of the categories that have control variables, the names.
  [[nodiscard]] std::vector<std::string> categories() const;
  /// The value of a control variable by its name in the description; empty where there is no such variable.
  [[nodiscard]] std::string value_of(const std::string& variable) const;

 private:
  bool is_usable_ = false;
};

/// The name of a value of a variable of MPICH, which has lines "name - what it does" in their order in its description.
std::string named_value(const std::string& description, int value);

}  // namespace commlens::transport
