// SPDX-License-Identifier: Apache-2.0
//
// Every control command of both dialects as raw bytes, whole and split at every byte.
#include "core/engine/target_control.h"

#include <memory>
#include <string>
#include <vector>

#include "core/engine/testing/target_harness.h"
#include "core/wire/test_bytes.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

// One command and the answer to it on a session's control queue.
struct Exchange {
  const char* name;
  const char* command;
  const char* answer;
};

// The session of these tables: no status set, device features 0x6, 2 virtqueues of 128, 16 bytes of
// configuration (zeros, generation 0).
const Exchange kV5Exchanges[] = {
    {"keepalive", "0200 0700 00000000 0000000000000000", "0000 0700 00000000 0000000000000000"},
    {"get_feature 0", "0400 0700 00000000 0000000000000000", "0000 0700 00000000 0000000009000000"},
    {"get_feature 0x101", "0400 0700 01010000 0000000000000000",
     "0000 0700 00000000 0010400000104000"},
    {"get_feature of an unknown page", "0400 0700 02000000 0000000000000000",
     "0020 0700 00000000 0000000000000000"},
    {"set_feature", "0500 0700 00000000 0000000009000000", "0000 0700 00000000 0000000000000000"},
    {"set_feature beyond the offer", "0500 0700 00000000 0000000002000000",
     "0020 0700 00000000 0000000000000000"},
    {"set_feature of the sizes", "0500 0700 01010000 0000000000000000",
     "0020 0700 00000000 0000000000000000"},
    {"get_keyed_num_descs", "0001 0700 00000000 0000000000000000",
     "0100 0700 00000000 0000000000000000"},
    {"get_keyed_eager_buf", "0201 0700 00000000 0000000000000000",
     "0100 0700 00000000 0000000000000000"},
    {"vq_keyed_eager_buf", "fe0f 0700 00000000 0000000000000000",
     "0100 0700 00000000 0000000000000000"},
    {"get_num_queues without its bit", "0002 0700 00000000 0000000000000000",
     "0100 0700 00000000 0000000000000000"},
    {"get_vendor_id", "0010 0700 00000000 0000000000000000", "0000 0700 564f4600 0000000000000000"},
    {"get_device_id", "0110 0700 00000000 0000000000000000", "0000 0700 02000000 0000000000000000"},
    {"reset_device", "0310 0700 00000000 0000000000000000", "0000 0700 00000000 0000000000000000"},
    {"get_status", "0410 0700 00000000 0000000000000000", "0000 0700 00000000 0000000000000000"},
    {"set_status", "0510 0700 01000000 0000000000000000", "0000 0700 00000000 0000000000000000"},
    {"set_status of a bit nobody knows", "0510 0700 00010000 0000000000000000",
     "1020 0700 00000000 0000000000000000"},
    {"DRIVER_OK without FEATURES_OK", "0510 0700 07000000 0000000000000000",
     "1020 0700 00000000 0000000000000000"},
    {"get_device_feature", "0610 0700 00000000 0000000000000000",
     "0000 0700 00000000 0600000001000000"},
    {"get_device_feature of an unknown page", "0610 0700 01000000 0000000000000000",
     "2020 0700 00000000 0000000000000000"},
    {"set_driver_feature", "0910 0700 00000000 0200000001000000",
     "0000 0700 00000000 0000000000000000"},
    {"set_driver_feature beyond the offer", "0910 0700 00000000 0100000001000000",
     "2020 0700 00000000 0000000000000000"},
    {"get_vq_size", "0a10 0700 01000000 0000000000000000", "0000 0700 80000000 0000000000000000"},
    {"get_vq_size of no queue", "0a10 0700 02000000 0000000000000000",
     "2010 0700 00000000 0000000000000000"},
    {"get_config", "0c10 0700 0000 08 00 0000000000000000", "0000 0700 00000000 0000000000000000"},
    {"get_config past the end", "0c10 0700 1000 01 00 0000000000000000",
     "3020 0700 00000000 0000000000000000"},
    {"get_config across the end", "0c10 0700 0f00 02 00 0000000000000000",
     "3120 0700 00000000 0000000000000000"},
    {"get_config of 3 bytes", "0c10 0700 0000 03 00 0000000000000000",
     "3120 0700 00000000 0000000000000000"},
    {"get_config of 0 bytes", "0c10 0700 0000 00 00 0000000000000000",
     "3120 0700 00000000 0000000000000000"},
    {"set_config", "0d10 0700 0800 02 00 3412000000000000", "0000 0700 00000000 0000000000000000"},
    {"set_config of a read-only field", "0d10 0700 0000 02 00 3412000000000000",
     "3020 0700 00000000 0000000000000000"},
    {"an unknown opcode", "fefe 0700 ffffffff ffffffffffffffff",
     "0100 0700 00000000 0000000000000000"},
    {"disconnect", "0100 0700 00000000 0000000000000000", "0000 0700 00000000 0000000000000000"},
};

const Exchange kRefExchanges[] = {
    {"keepalive", "0200 0700 00000000 0000000000000000", "0000 0700 0000 0000 0000000000000000"},
    {"get_feature", "0300 0700 00000000 0000000000000000", "0000 0700 0000 0000 4c04000000000000"},
    {"get_feature of an unknown page", "0300 0700 01000000 0000000000000000",
     "1600 0700 0000 0000 0000000000000000"},
    {"set_feature", "0400 0700 00000000 8000000000000000", "0000 0700 0000 0000 0000000000000000"},
    {"set_feature above the maximum", "0400 0700 00000000 4d04000000000000",
     "1600 0700 0000 0000 0000000000000000"},
    {"get_vendor_id", "0010 0700 00000000 0000000000000000",
     "0000 0700 0000 0000 564f460000000000"},
    {"get_device_id", "0110 0700 00000000 0000000000000000",
     "0000 0700 0000 0000 0200000000000000"},
    {"get_generation", "0210 0700 00000000 0000000000000000",
     "0000 0700 0000 0000 0000000000000000"},
    {"get_status", "0310 0700 00000000 0000000000000000", "0000 0700 0000 0000 0000000000000000"},
    {"set_status", "0410 0700 03000000 0000000000000000", "0000 0700 0000 0000 0000000000000000"},
    {"set_status 0", "0410 0700 00000000 0000000000000000", "0000 0700 0000 0000 0000000000000000"},
    {"DRIVER_OK without FEATURES_OK", "0410 0700 07000000 0000000000000000",
     "0000 0700 0000 0000 0000000000000000"},
    {"get_device_feature: no VERSION_1", "0510 0700 00000000 0000000000000000",
     "0000 0700 0000 0000 0600000000000000"},
    {"set_driver_feature", "0610 0700 00000000 0600000000000000",
     "0000 0700 0000 0000 0000000000000000"},
    {"set_driver_feature beyond the offer", "0610 0700 00000000 0100000000000000",
     "1600 0700 0000 0000 0000000000000000"},
    {"get_num_queues", "0710 0700 00000000 0000000000000000",
     "0000 0700 0000 0000 0200000000000000"},
    {"get_queue_size", "0810 0700 01000000 0000000000000000",
     "0000 0700 0000 0000 8000000000000000"},
    {"get_queue_size of no queue", "0810 0700 02000000 0000000000000000",
     "2c00 0700 0000 0000 0000000000000000"},
    {"set_queue_size", "0910 0700 01000000 4000000000000000",
     "0000 0700 0000 0000 0000000000000000"},
    {"set_queue_size, no power of two", "0910 0700 01000000 0300000000000000",
     "1600 0700 0000 0000 0000000000000000"},
    {"get_config", "0a10 0700 0000 08 00 0000000000000000", "0000 0700 0000 0000 0000000000000000"},
    {"get_config past the end", "0a10 0700 ffff 08 00 0000000000000000",
     "1600 0700 0000 0000 0000000000000000"},
    {"set_config", "0b10 0700 0800 01 00 ff00000000000000", "0000 0700 0000 0000 0000000000000000"},
    {"an unknown opcode", "fefe 0700 00000000 0000000000000000",
     "5f00 0700 0000 0000 0000000000000000"},
    {"disconnect", "0100 0700 00000000 0000000000000000", "0000 0700 0000 0000 0000000000000000"},
};

template <Codec C>
void CheckExchange(const Exchange& exchange) {
  const auto command = Bytes(exchange.command);
  const std::string answer = Hex(Bytes(exchange.answer));
  for (size_t cut = 0; cut < command.size(); ++cut) {
    SCOPED_TRACE(std::string(exchange.name) + ", cut at " + std::to_string(cut));
    TargetHarness target;
    auto control = ConnectControl<C>(target);
    control->TakeReceived();
    control->Send(std::span(command).first(cut));
    ASSERT_TRUE(control->received().empty());
    control->Send(std::span(command).subspan(cut));
    ASSERT_EQ(Hex(control->received()), answer);
  }
}

TEST(TargetControlTest, V5Commands) {
  for (const Exchange& exchange : kV5Exchanges) CheckExchange<V5>(exchange);
}
TEST(TargetControlTest, RefCommands) {
  for (const Exchange& exchange : kRefExchanges) CheckExchange<Ref>(exchange);
}

// In `ref` they come on any queue.
TEST(TargetControlTest, RefCommandsOnAVirtqueue) {
  for (const Exchange& exchange : kRefExchanges) {
    SCOPED_TRACE(exchange.name);
    TargetHarness target;
    auto control = ConnectControl<Ref>(target);
    auto queue = ConnectQueue<Ref>(target, 0, 0);
    queue->TakeReceived();
    queue->Send(Bytes(exchange.command));
    control->Run();
    EXPECT_EQ(Hex(queue->received()), Hex(Bytes(exchange.answer)));
  }
}

TEST(TargetControlTest, V5VirtqueuesKnowTwoControlCommands) {
  TargetHarness target;
  auto control = ConnectControl<V5>(target);
  auto queue = ConnectQueue<V5>(target, 0, 0);
  queue->TakeReceived();
  for (const Exchange& exchange : kV5Exchanges) {
    const std::string name = exchange.name;
    if (name == "disconnect") continue;
    queue->Send(Bytes(exchange.command));
    const char* status = name == "keepalive" ? "00000700" : "01000700";
    EXPECT_EQ(Hex(queue->TakeReceived()), status + std::string(24, '0')) << name;
  }
  EXPECT_FALSE(queue->closed());
}

// Field failure 2 and 4 on the control queue.
TEST(TargetControlTest, WhatClosesAControlQueue) {
  for (const char* hex : {
           "ff0f0700 00000000 10000000 10000000",  // a virtqueue command
           "0000ffff 0000ffff 00040000 00000000",  // Connect
           "020000ff 00000000 00000000 00000000",  // a reserved id
           "0200ffff 00000000 00000000 00000000",
       }) {
    TargetHarness target;
    auto control = ConnectControl<V5>(target);
    control->TakeReceived();
    control->Send(Bytes(hex));
    EXPECT_TRUE(control->closed()) << hex;
    EXPECT_TRUE(control->received().empty()) << hex;
  }
}

}  // namespace
}  // namespace vof
