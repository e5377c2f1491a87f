// Which MPI library the program runs with.
#pragma once

#include <string>

namespace commlens::transport {

/// "Open MPI 5.0.7", "MPICH 4.0.2", "Intel MPI 2021.11", "Cray MPICH 8.1.28", "MVAPICH 3.0".
std::string mpi_library();
/// What its settings and its launcher are like: "openmpi", "mpich" (with those made of it), "intel", or "other".
std::string mpi_family();

/// The same from what a library says of itself (MPI_Get_library_version), which is free text: a line of some, a page of
/// others. Of an unknown library the name is the beginning of the first line.
std::string mpi_library_in(const std::string& text);
std::string mpi_family_in(const std::string& text);

}  // namespace commlens::transport
