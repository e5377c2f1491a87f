// What a component needs to run: who takes part, where its memory lies, over which transport and on which stream.
#pragma once

#include "device/device.hpp"
#include "transport/communicator.hpp"
#include "transport/transport.hpp"

namespace commlens {

/// A component keeps copies of what it needs; all that is referred to must outlive it.
struct Context {
  const transport::Communicator& communicator;
  transport::Transport& transport;
  device::Device& device;
  device::Memory memory;              ///< in which the data lies
  device::Stream& stream;             ///< of that memory
  device::Allocate allocate;          ///< in `memory`
  device::Allocate allocate_staging;  ///< in the device's staging memory, on the host
};

}  // namespace commlens
