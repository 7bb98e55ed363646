// SPDX-License-Identifier: Apache-2.0
//
// Brings a device up: Connect of the control queue, transport features, device features, virtqueue
// sizes, then - once the virtqueues are connected - DRIVER_OK.
//
//   InitiatorHandshake handshake(options);
//   while (handshake.Next(&command)) ... handshake.OnAnswer(command, answer);
//   // now handshake.wants_virtqueues(): connect one for each of info().queue_sizes
//   handshake.VirtqueuesOpened();
//   while (handshake.Next(&command)) ...          // now handshake.done()
//
// In `ref` it sends what the recordings of other initiators hold, in their order, and nothing else:
// the reference target ends a session on commands that it does not know.
#ifndef VOF_CORE_ENGINE_INITIATOR_HANDSHAKE_H_
#define VOF_CORE_ENGINE_INITIATOR_HANDSHAKE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "core/base/limits.h"
#include "core/engine/initiator_config_script.h"
#include "core/wire/command.h"

namespace vof {

// What our own targets answer to get_vendor_id: "VOF".
inline constexpr uint32_t kOurVendorId = 0x00464f56;

struct InitiatorHandshakeOptions {
  Dialect dialect = Dialect::kV5;
  Transmission transmission = Transmission::kStream;
  // Device features to accept when they are offered. VERSION_1 is always accepted.
  uint64_t wanted_features = ~uint64_t{0};
  uint16_t queues = 1;      // virtqueues to open; fewer when the device has fewer
  uint16_t queue_size = 0;  // largest size wanted; 0: what the target offers
  // Where the device type keeps its number of virtqueues, for `v5` targets without NUM_QUEUES, and
  // the device feature that says so. None: there is one virtqueue.
  std::optional<ConfigField> num_queues_field;
  uint64_t num_queues_feature = 0;
};

// What both sides agreed on.
struct SessionInfo {
  Dialect dialect = Dialect::kV5;
  uint16_t instance_id = 0;
  uint64_t epoch = 0;               // v5
  uint64_t transport_features = 0;  // accepted (v5)
  uint64_t offered_features = 0;    // of the device
  uint64_t features = 0;            // accepted
  uint32_t vendor_id = 0;
  uint32_t device_type = 0;                   // virtio device id: 2 block
  uint16_t num_queues = 0;                    // of the device
  std::vector<uint16_t> queue_sizes;          // of the virtqueues opened
  uint32_t max_out_bytes = kMaxRequestBytes;  // of one request
  uint32_t max_in_bytes = kMaxRequestBytes;
  uint16_t max_segments = kMaxSegments;
  // Keyed, when INLINE was accepted.
  uint32_t inline_request_bytes = 0;
  uint32_t inline_completion_bytes = 0;

  bool target_is_ours() const { return vendor_id == kOurVendorId; }
};

class InitiatorHandshake {
 public:
  explicit InitiatorHandshake(const InitiatorHandshakeOptions& options);

  bool wants_virtqueues() const;
  void VirtqueuesOpened();
  bool virtqueues_open() const { return queues_open_; }
  // Starts over behind Connect: resets the device and sets it up again. Only when done.
  void Restart();
  const SessionInfo& info() const { return info_; }

  // As in InitiatorScript. Every failure ends the session.
  bool Next(Command* command);
  absl::Status OnAnswer(const Command& command, const Completion& completion);
  bool done() const;

 private:
  enum class Step : uint8_t;
  static std::span<const Step> ScriptOf(Dialect dialect);
  Step step() const { return script_[position_]; }
  void Proceed();  // to the next step that applies
  bool Applies(Step step) const;
  uint64_t WantedTransport() const;
  void Fill(Step step, Command* command) const;
  uint32_t StatusBits(Step step) const;
  absl::Status OnStatus(uint32_t status) const;
  absl::Status OnDeviceFeatures(uint64_t offered);
  absl::Status OnNumQueues(uint64_t num_queues);
  absl::Status OnQueueSize(uint64_t size);
  std::string What(const Command& command) const;

  const InitiatorHandshakeOptions options_;
  const std::span<const Step> script_;
  size_t position_ = 0;
  SessionInfo info_;
  uint64_t offered_transport_ = 0;
  bool queues_open_ = false;
  bool restarted_ = false;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_INITIATOR_HANDSHAKE_H_
