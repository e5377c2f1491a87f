// The contents by which point-to-point messages are checked: no stale, shifted or half-sent message may pass.
#include "harness/pattern.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace commlens {
namespace {

class Pattern : public testing::Test {
 protected:
  std::unique_ptr<device::Device> device = device::open_host();
  std::unique_ptr<device::Stream> stream = device->stream(device::Memory::host);
};

TEST_F(Pattern, WhatWasWrittenPasses) {
  std::vector<unsigned char> data(1003);
  pattern::write_bytes(*stream, data.data(), data.size(), 5);
  EXPECT_EQ(pattern::wrong_byte(*stream, data.data(), data.size(), 5), "");
  EXPECT_EQ(pattern::wrong_byte(*stream, data.data(), 0, 5), "");
}

TEST_F(Pattern, OneWrongByteIsNamed) {
  std::vector<unsigned char> data(1003);
  pattern::write_bytes(*stream, data.data(), data.size(), 5);
  stream->wait();
  data[1002] ^= 1;
  const auto message = pattern::wrong_byte(*stream, data.data(), data.size(), 5);
  EXPECT_EQ(message.rfind("byte 1002 of 1003 is ", 0), 0U) << message;
}

TEST_F(Pattern, SpoiledBytesAreAllWrong) {
  std::vector<unsigned char> data(257);
  pattern::spoil_bytes(*stream, data.data(), data.size(), 5);
  stream->wait();
  for (std::size_t i = 0; i < data.size(); ++i) EXPECT_NE(data[i], pattern::byte_at(i, 5));
}

TEST_F(Pattern, AShiftedOrOtherMessageDoesNotPass) {
  std::vector<unsigned char> data(300);
  pattern::write_bytes(*stream, data.data(), data.size(), 5);
  EXPECT_NE(pattern::wrong_byte(*stream, data.data() + 1, data.size() - 1, 5), "");
  EXPECT_NE(pattern::wrong_byte(*stream, data.data() + 8, data.size() - 8, 5), "");
  EXPECT_NE(pattern::wrong_byte(*stream, data.data(), data.size(), 6), "");
  EXPECT_NE(pattern::seed(4, 1, 0), pattern::seed(4, 2, 0)) << "round";
  EXPECT_NE(pattern::seed(4, 1, 0), pattern::seed(8, 1, 0)) << "size";
  EXPECT_NE(pattern::seed(4, 1, 0), pattern::seed(4, 1, 1)) << "sender";
  EXPECT_NE(pattern::seed(1, 2, 0), pattern::seed(2, 1, 0));
}

}  // namespace
}  // namespace commlens
