// What a device is made of on the host.
#pragma once

#include <cstddef>
#include <memory>

#include "device/device.hpp"

namespace commlens::device::host {

/// Used from one thread: a queue of functions, which run in the thread that waits (see device.hpp), or when it ends.
std::unique_ptr<Stream> make_lazy_stream();
/// One thread adds to it, and a thread of its own runs the queue. Its end waits for the rest of it; during exception
/// handling it drops what has not begun.
std::unique_ptr<Stream> make_concurrent_stream();
/// Of both: a point in the queue, which may outlive the stream.
std::unique_ptr<Event> make_event();

Buffer allocate(std::size_t bytes);
std::size_t available();

std::unique_ptr<Blas> make_blas(int threads);
std::unique_ptr<Fft> make_fft(const FftShape& shape);

}  // namespace commlens::device::host
