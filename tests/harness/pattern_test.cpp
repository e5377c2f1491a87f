// The contents by which point-to-point messages are checked: no stale, shifted or half-sent message may pass.
#include "harness/pattern.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>

namespace commlens {
namespace {

class Pattern : public testing::Test {
 protected:
  std::unique_ptr<device::Device> device = device::open_host();
  std::unique_ptr<device::Stream> stream = device->stream(device::Memory::host);
};

/// A part of a buffer.
device::Buffer view(const device::Buffer& buffer, std::size_t from, std::size_t bytes) {
  return {buffer.as<std::byte>() + from, bytes, buffer.memory()};
}

TEST_F(Pattern, WhatWasWrittenPasses) {
  const auto data = device->allocate(device::Memory::host, 1003);
  pattern::write_bytes(*stream, data, 5);
  EXPECT_EQ(pattern::expect_bytes(*stream, data, 5).error, "");
  EXPECT_EQ(pattern::expect_bytes(*stream, data, 5).elements, 1003U);
  EXPECT_EQ(pattern::expect_bytes(*stream, view(data, 0, 0), 5).error, "");
}

TEST_F(Pattern, OneWrongByteIsNamed) {
  const auto data = device->allocate(device::Memory::host, 1003);
  pattern::write_bytes(*stream, data, 5);
  stream->wait();
  data.as<unsigned char>()[1002] ^= 1;
  const auto message = pattern::expect_bytes(*stream, data, 5).error;
  EXPECT_EQ(message.rfind("byte 1002 of 1003 is ", 0), 0U) << message;
}

TEST_F(Pattern, PoisonedBytesAreAllWrong) {
  const auto data = device->allocate(device::Memory::host, 257);
  pattern::poison_bytes(*stream, data, 5);
  stream->wait();
  for (std::size_t i = 0; i < data.bytes(); ++i) EXPECT_NE(data.as<unsigned char>()[i], pattern::byte_at(i, 5));
}

TEST_F(Pattern, AShiftedOrOtherMessageDoesNotPass) {
  const auto data = device->allocate(device::Memory::host, 300);
  pattern::write_bytes(*stream, data, 5);
  EXPECT_NE(pattern::expect_bytes(*stream, view(data, 1, 299), 5).error, "");
  EXPECT_NE(pattern::expect_bytes(*stream, view(data, 8, 292), 5).error, "");
  EXPECT_NE(pattern::expect_bytes(*stream, data, 6).error, "");
  EXPECT_NE(pattern::seed(4, 1, 0), pattern::seed(4, 2, 0)) << "round";
  EXPECT_NE(pattern::seed(4, 1, 0), pattern::seed(8, 1, 0)) << "size";
  EXPECT_NE(pattern::seed(4, 1, 0), pattern::seed(4, 1, 1)) << "sender";
  EXPECT_NE(pattern::seed(1, 2, 0), pattern::seed(2, 1, 0));
}

}  // namespace
}  // namespace commlens
