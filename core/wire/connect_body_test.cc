// SPDX-License-Identifier: Apache-2.0
#include "core/wire/connect_body.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/wire/test_bytes.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

using Body = std::array<std::byte, kConnectBodyBytes>;

Body Zeros() {
  Body body;
  body.fill(std::byte{0});
  return body;
}

void Put(Body& body, size_t offset, std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) body[offset + i] = static_cast<std::byte>(text[i]);
}

SessionToken Token() {
  SessionToken token;
  for (size_t i = 0; i < token.size(); ++i) token[i] = static_cast<std::byte>(0xf0 + i);
  return token;
}

TEST(ConnectBody, HasTheDocumentedBytes) {
  Body expected = Zeros();
  Put(expected, 0, "host-a");
  Put(expected, 256, "disk/\xc3\xa4");
  for (size_t i = 0; i < 16; ++i) expected[512 + i] = static_cast<std::byte>(0xf0 + i);

  const ConnectBody body{
      .initiator_name = "host-a", .target_name = "disk/\xc3\xa4", .token = Token()};
  Body encoded;
  encoded.fill(std::byte{0xee});
  ASSERT_EQ(EncodeConnectBody(Dialect::kV5, body, encoded), WireError::kNone);
  EXPECT_TRUE(encoded == expected);

  ConnectBody decoded;
  ASSERT_EQ(DecodeConnectBody(Dialect::kV5, expected, decoded), WireError::kNone);
  EXPECT_TRUE(decoded == body);
  EXPECT_TRUE(decoded.has_token());
}

TEST(ConnectBody, RefHasNoTokenWhateverItsReservedBytesHold) {
  const ConnectBody body{.initiator_name = "a", .target_name = "b", .token = Token()};
  Body encoded;
  encoded.fill(std::byte{0xee});
  ASSERT_EQ(EncodeConnectBody(Dialect::kRef, body, encoded), WireError::kNone);
  EXPECT_TRUE(std::all_of(encoded.begin() + 512, encoded.end(),
                          [](std::byte b) { return b == std::byte{0}; }));

  std::fill(encoded.begin() + 512, encoded.end(), std::byte{0x5a});
  ConnectBody decoded{.initiator_name = "old", .target_name = "old", .token = Token()};
  ASSERT_EQ(DecodeConnectBody(Dialect::kRef, encoded, decoded), WireError::kNone);
  EXPECT_EQ(decoded.initiator_name, "a");
  EXPECT_EQ(decoded.target_name, "b");
  EXPECT_FALSE(decoded.has_token());
}

TEST(ConnectBody, ReservedBytesAndBytesBehindANameAreIgnored) {
  Body wire = Zeros();
  Put(wire, 0, std::string_view("a\0garbage\xff", 10));
  Put(wire, 256, std::string_view("b\0\xff", 3));
  std::fill(wire.begin() + 528, wire.end(), std::byte{0x5a});
  ConnectBody decoded;
  ASSERT_EQ(DecodeConnectBody(Dialect::kV5, wire, decoded), WireError::kNone);
  EXPECT_TRUE((decoded == ConnectBody{.initiator_name = "a", .target_name = "b"}));
}

TEST(ConnectBody, FieldWithoutNulIsRefused) {
  for (size_t field : {size_t{0}, size_t{256}}) {
    for (Dialect dialect : {Dialect::kV5, Dialect::kRef}) {
      Body wire = Zeros();
      Put(wire, field, std::string(256, 'n'));
      ConnectBody decoded{.initiator_name = "kept"};
      EXPECT_EQ(DecodeConnectBody(dialect, wire, decoded), WireError::kNameNotTerminated);
      EXPECT_EQ(decoded.initiator_name, "kept");

      wire[field + 255] = std::byte{0};
      EXPECT_EQ(DecodeConnectBody(dialect, wire, decoded), WireError::kNone);
      EXPECT_EQ((field == 0 ? decoded.initiator_name : decoded.target_name), std::string(255, 'n'));
    }
  }
}

TEST(ConnectBody, NamesAreUtf8InV5Only) {
  for (size_t field : {size_t{0}, size_t{256}}) {
    Body wire = Zeros();
    Put(wire, field, "caf\xe9");
    ConnectBody decoded;
    EXPECT_EQ(DecodeConnectBody(Dialect::kV5, wire, decoded), WireError::kNameNotUtf8);
    EXPECT_EQ(DecodeConnectBody(Dialect::kRef, wire, decoded), WireError::kNone);
  }
}

TEST(ConnectBody, NamesThatCannotTravelAreNotEncoded) {
  Body out = Zeros();
  const auto encode = [&](std::string name) {
    return EncodeConnectBody(Dialect::kV5, {.target_name = std::move(name)}, out);
  };
  EXPECT_EQ(encode(std::string(256, 'n')), WireError::kNameNotTerminated);
  EXPECT_EQ(encode(std::string("a\0b", 3)), WireError::kNameNotTerminated);
  EXPECT_EQ(encode("caf\xe9"), WireError::kNameNotUtf8);
  EXPECT_TRUE(out == Zeros());
  EXPECT_EQ(encode(std::string(255, 'n')), WireError::kNone);
  EXPECT_EQ(encode(""), WireError::kNone);
}

}  // namespace
}  // namespace vof
