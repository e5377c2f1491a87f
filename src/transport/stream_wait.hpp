// The wait of transports that do not know streams.
#pragma once

#include "device/device.hpp"
#include "transport/activity.hpp"

namespace commlens::transport {

inline const Call stream_wait_call{"waiting for a stream"};

/// For all that was added to the stream. A small message takes as long as a few such waits: one for nothing is saved.
inline void wait_for_stream(device::Stream& stream) {
  if (stream.idle()) return;
  const InCall call(stream_wait_call);
  stream.wait();
}

}  // namespace commlens::transport
