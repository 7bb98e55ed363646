// SPDX-License-Identifier: Apache-2.0
//
// Watches the bytes of one connection of a session and holds both ends to the protocol
// (queue_rules.h), with a parser of its own.
//
//   auto session = std::make_shared<WireSession>();     // shared by the connections of a session
//   auto checker = std::make_shared<WireChecker>(session, [](std::string what) { ... });
//   SimPipe pipe(capacity, checker);
#ifndef VOF_TESTING_SIM_WIRE_CHECKER_H_
#define VOF_TESTING_SIM_WIRE_CHECKER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/wire/codec.h"
#include "testing/sim/queue_rules.h"
#include "testing/sim/sim_pipe.h"

namespace vof {

class WireChecker final : public PipeObserver {
 public:
  WireChecker(std::shared_ptr<WireSession> session, QueueRules::Fail fail)
      : rules_(std::move(session), std::move(fail)) {}

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
  template <Codec C>
  uint64_t SegmentBytes(std::span<const std::byte> descriptors, bool writable) const;

  QueueRules rules_;
  Lane lanes_[2];
  bool is_ref_ = false;
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_WIRE_CHECKER_H_
