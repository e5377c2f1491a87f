// Windows of MPI, for the transport `mpi`.
#pragma once

#include <cstddef>
#include <memory>

#include "transport/communicator.hpp"
#include "transport/window.hpp"

namespace commlens::transport {

/// Collective. `data` is not used where MPI makes the memory.
std::unique_ptr<Window> make_mpi_window(const Communicator& communicator, WindowCreation creation, void* data,
                                        std::size_t bytes);

}  // namespace commlens::transport
