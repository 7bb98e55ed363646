// SPDX-License-Identifier: Apache-2.0
//
// Watches the bytes of one connection of a session and holds both ends to the protocol, with a
// parser of its own: credits, command ids, answers, events (docs/protocol.md).
//
//   auto session = std::make_shared<WireSession>();     // shared by the connections of a session
//   auto checker = std::make_shared<WireChecker>(session, [](std::string what) { ... });
//   SimPipe pipe(capacity, checker);
//
// Checks that the initiator never sends without a credit, that the window stays between 1 and the
// queue size, that every answer answers something, that no id is in flight twice, and that no
// configuration event comes before DRIVER_OK.
#ifndef VOF_TESTING_SIM_WIRE_CHECKER_H_
#define VOF_TESTING_SIM_WIRE_CHECKER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/wire/codec.h"
#include "core/wire/command.h"
#include "testing/sim/sim_pipe.h"

namespace vof {

// What the control queue has agreed on, seen on the wire.
struct WireSession {
  bool credit = false;
  bool driver_ok = false;  // asked for, and no reset has been answered since
  std::map<uint16_t, uint16_t> queue_sizes;
};

class WireChecker final : public PipeObserver {
 public:
  using Fail = std::function<void(std::string)>;

  WireChecker(std::shared_ptr<WireSession> session, Fail fail)
      : session_(std::move(session)), fail_(std::move(fail)) {}

  void OnBytes(int from_side, std::span<const std::byte> bytes) override;

 private:
  // One direction: what is not parsed yet, and payload that is passed over.
  struct Lane {
    std::vector<std::byte> bytes;
    uint64_t skip_bytes = 0;
  };

  template <Codec C>
  void Parse(int from_side);
  // Each returns how many bytes the message at the front takes, 0 when it is not complete.
  template <Codec C>
  size_t Connect(std::span<const std::byte> bytes);
  template <Codec C>
  size_t FromInitiator(std::span<const std::byte> bytes);
  template <Codec C>
  size_t FromTarget(std::span<const std::byte> bytes);
  template <Codec C>
  size_t VqCompletion(std::span<const std::byte> bytes);
  template <Codec C>
  size_t ControlCompletion(std::span<const std::byte> bytes);
  void OnControlCommand(const Command& command);
  void OnVqCommand(const Command& command);
  void OnGrant(uint16_t grant, bool answers_command);
  template <Codec C>
  uint64_t SegmentBytes(std::span<const std::byte> descriptors, bool writable) const;

  const std::shared_ptr<WireSession> session_;
  const Fail fail_;
  Lane lanes_[2];
  bool is_ref_ = false;
  bool connect_seen_ = false;
  bool connect_answered_ = false;
  bool is_control_ = false;
  int64_t queue_size_ = 0;
  int64_t held_ = 0;                        // credits
  std::map<uint16_t, Command> in_flight_;   // by command id
  std::vector<Command> control_in_flight_;  // `ref`: in order
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_WIRE_CHECKER_H_
