// Which device is a rank's: found from its place on its node, before MPI is there.
#pragma once

#include <memory>
#include <optional>

#include "device/device.hpp"

namespace commlens {

/// This process's place among those of its node, as the launcher tells it before MPI is there; nothing under a launcher
/// that does not.
std::optional<int> local_rank_from_environment();

/// Which of `count` GPUs a rank takes: the ranks of a node in turn. -1 without GPUs.
int gpu_of(int local_rank, int count);

/// The device of the rank with this place on its node, made current: its GPU, or the host where there is none.
///
/// The GPU comes before MPI_Init: some libraries look for one in MPI_Init and never again. Open MPI 5's smcuda, its way
/// over CUDA IPC, turns itself off in a process without a context.
std::unique_ptr<device::Device> open_rank_device(int local_rank);

}  // namespace commlens
