// Arrays of the host, copied to a device and back. All of these wait for the stream.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/device.hpp"

namespace commlens::device {

template <class Values>
using ElementOf = std::remove_cv_t<std::remove_pointer_t<decltype(std::declval<const Values&>().data())>>;

/// A std::vector, std::span or std::array of what may be copied byte by byte.
template <class Values>
concept Uploadable =
    requires(const Values& values) { values.size(); } && std::is_trivially_copyable_v<ElementOf<Values>>;

/// Copies `values` to `to`, in any memory that the stream reaches.
template <Uploadable Values>
void upload(const Values& values, void* to, Stream& stream) {
  stream.copy(to, values.data(), values.size() * sizeof(ElementOf<Values>));
  stream.wait();
}

/// Copies `values` into a buffer of their size that `allocate` gives.
template <Uploadable Values>
Buffer upload(const Values& values, const Allocate& allocate, Stream& stream) {
  Buffer buffer = allocate(values.size() * sizeof(ElementOf<Values>));
  upload(values, buffer.data(), stream);
  return buffer;
}

/// The `count` elements at `from`.
template <class T>
std::vector<T> download(const T* from, std::size_t count, Stream& stream) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> values(count);
  stream.copy(values.data(), from, count * sizeof(T));
  stream.wait();
  return values;
}

/// The element at `from`.
template <class T>
T download(const T* from, Stream& stream) {
  return download(from, 1, stream).front();
}

}  // namespace commlens::device
