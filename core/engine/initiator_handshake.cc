// SPDX-License-Identifier: Apache-2.0
#include "core/engine/initiator_handshake.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "core/device/device.h"
#include "core/engine/initiator_status.h"
#include "core/engine/virtio_status.h"

namespace vof {
namespace {

uint16_t ClampQueueSize(uint64_t size) {
  return static_cast<uint16_t>(std::min<uint64_t>(size, kMaxQueueSize));
}

}  // namespace

enum class InitiatorHandshake::Step : uint8_t {
  kConnect,
  kGetTransportFeatures,
  kSetTransportFeatures,
  kGetInlineSizes,
  kGetRequestSizes,
  kGetMaxSegments,
  kGetNumQueues,
  kGetNumQueuesField,
  kGetVendor,
  kGetDevice,
  kReset,
  kCheckReset,
  kAcknowledge,
  kCheckAcknowledge,
  kDriver,
  kGetDeviceFeatures,
  kSetDriverFeatures,
  kFeaturesOk,
  kCheckFeaturesOk,
  kGetQueueSizes,
  kOpenVirtqueues,
  kCheckBeforeDriverOk,
  kDriverOk,
  kCheckDriverOk,
  kDone,
};

std::span<const InitiatorHandshake::Step> InitiatorHandshake::ScriptOf(Dialect dialect) {
  static constexpr std::array kV5 = {
      Step::kConnect,
      Step::kGetTransportFeatures,
      Step::kSetTransportFeatures,
      Step::kGetInlineSizes,
      Step::kGetRequestSizes,
      Step::kGetVendor,
      Step::kGetDevice,
      Step::kReset,
      Step::kAcknowledge,
      Step::kDriver,
      Step::kGetDeviceFeatures,
      Step::kSetDriverFeatures,
      Step::kFeaturesOk,
      Step::kCheckFeaturesOk,
      Step::kGetNumQueues,
      Step::kGetNumQueuesField,
      Step::kGetQueueSizes,
      Step::kOpenVirtqueues,
      Step::kDriverOk,
      Step::kCheckDriverOk,
      Step::kDone,
  };
  static constexpr std::array kRef = {
      Step::kConnect,
      Step::kGetNumQueues,
      Step::kGetVendor,
      Step::kGetDevice,
      Step::kGetMaxSegments,
      Step::kReset,
      Step::kCheckReset,
      Step::kAcknowledge,
      Step::kCheckAcknowledge,
      Step::kDriver,
      Step::kGetDeviceFeatures,
      Step::kSetDriverFeatures,
      Step::kFeaturesOk,
      Step::kCheckFeaturesOk,
      Step::kGetQueueSizes,
      Step::kOpenVirtqueues,
      Step::kCheckBeforeDriverOk,
      Step::kDriverOk,
      Step::kCheckDriverOk,
      Step::kDone,
  };
  return dialect == Dialect::kV5 ? std::span<const Step>(kV5) : std::span<const Step>(kRef);
}

InitiatorHandshake::InitiatorHandshake(const InitiatorHandshakeOptions& options)
    : options_(options), script_(ScriptOf(options.dialect)) {
  info_.dialect = options.dialect;
}

uint64_t InitiatorHandshake::WantedTransport() const {
  uint64_t wanted = transport_feature::kCredit | transport_feature::kNumQueues;
  if (options_.transmission == Transmission::kKeyed) wanted |= transport_feature::kInline;
  return offered_transport_ & wanted;
}

// Steps that depend on what was agreed before, or that a second run leaves out.
bool InitiatorHandshake::Applies(Step step) const {
  const bool v5 = info_.dialect == Dialect::kV5;
  switch (step) {
    case Step::kSetTransportFeatures:
      return WantedTransport() != 0;
    case Step::kGetInlineSizes:
      return (info_.transport_features & transport_feature::kInline) != 0;
    case Step::kGetMaxSegments:
      return info_.target_is_ours();
    case Step::kReset:  // a `v5` instance is born clean; Linux resets in any case
      return restarted_ || !v5;
    case Step::kFeaturesOk:
    case Step::kCheckFeaturesOk:
      return v5 || (info_.features & kFeatureVersion1) != 0;
    case Step::kGetNumQueues:
      return !queues_open_ &&
             (!v5 || (info_.transport_features & transport_feature::kNumQueues) != 0);
    case Step::kGetNumQueuesField:
      return info_.num_queues == 0 && options_.num_queues_field.has_value() &&
             (info_.features & options_.num_queues_feature) == options_.num_queues_feature;
    case Step::kGetQueueSizes:
    case Step::kOpenVirtqueues:
      return !queues_open_;
    default:
      return true;
  }
}

void InitiatorHandshake::Proceed() {
  do {
    ++position_;
  } while (!Applies(step()));
  if (step() == Step::kGetQueueSizes && info_.num_queues == 0) info_.num_queues = 1;
}

bool InitiatorHandshake::wants_virtqueues() const {
  return !queues_open_ && step() == Step::kOpenVirtqueues;
}

bool InitiatorHandshake::done() const { return step() == Step::kDone; }

void InitiatorHandshake::VirtqueuesOpened() {
  if (!wants_virtqueues()) return;
  queues_open_ = true;
  Proceed();
}

void InitiatorHandshake::Restart() {
  restarted_ = true;
  info_.features = 0;
  position_ = 0;
  while (step() != Step::kReset) ++position_;
}

uint32_t InitiatorHandshake::StatusBits(Step step) const {
  const bool features_ok =
      info_.dialect == Dialect::kV5 || (info_.features & kFeatureVersion1) != 0;
  uint32_t bits = virtio_status::kAcknowledge;
  if (step >= Step::kDriver) bits |= virtio_status::kDriver;
  if (step >= Step::kFeaturesOk && features_ok) bits |= virtio_status::kFeaturesOk;
  if (step >= Step::kDriverOk) bits |= virtio_status::kDriverOk;
  return step <= Step::kCheckReset ? 0 : bits;
}

bool InitiatorHandshake::Next(Command* command) {
  if (done() || wants_virtqueues()) return false;
  *command = Command{};
  Fill(step(), command);
  return true;
}

void InitiatorHandshake::Fill(Step step, Command* command) const {
  switch (step) {
    case Step::kConnect:
      command->kind = CommandKind::kConnect;
      command->instance_id = kControlInstanceId;
      command->queue_size = info_.dialect == Dialect::kV5 ? kControlQueueSize : 0;
      command->body_length = kConnectBodyBytes;
      return;
    case Step::kGetInlineSizes:
      command->kind = CommandKind::kGetFeature;
      command->select = kFeaturePageInlineSizes;
      return;
    case Step::kGetTransportFeatures:
    case Step::kGetRequestSizes:
    case Step::kGetMaxSegments:
      command->kind = CommandKind::kGetFeature;
      command->select =
          step == Step::kGetRequestSizes ? kFeaturePageRequestSizes : kFeaturePageBits;
      return;
    case Step::kSetTransportFeatures:
      command->kind = CommandKind::kSetFeature;
      command->value = WantedTransport();
      return;
    case Step::kGetNumQueues:
      command->kind = CommandKind::kGetNumQueues;
      return;
    case Step::kGetNumQueuesField:
      command->kind = CommandKind::kGetConfig;
      command->offset = options_.num_queues_field->offset;
      command->bytes = options_.num_queues_field->bytes;
      return;
    case Step::kGetVendor:
      command->kind = CommandKind::kGetVendorId;
      return;
    case Step::kGetDevice:
      command->kind = CommandKind::kGetDeviceId;
      return;
    case Step::kReset:
      command->kind = CommandKind::kResetDevice;
      return;
    case Step::kGetDeviceFeatures:
      command->kind = CommandKind::kGetDeviceFeature;
      return;
    case Step::kSetDriverFeatures:
      command->kind = CommandKind::kSetDriverFeature;
      command->value = info_.features;
      return;
    case Step::kGetQueueSizes:
      command->kind = CommandKind::kGetVqSize;
      command->queue_index = static_cast<uint16_t>(info_.queue_sizes.size());
      return;
    case Step::kAcknowledge:
    case Step::kDriver:
    case Step::kFeaturesOk:
    case Step::kDriverOk:
      command->kind = CommandKind::kSetStatus;
      command->value = StatusBits(step);
      return;
    default:  // all checks
      command->kind = CommandKind::kGetStatus;
      return;
  }
}

std::string InitiatorHandshake::What(const Command& command) const {
  const std::string_view name = CommandKindName(command.kind);
  std::string what(name);
  if (command.kind == CommandKind::kGetVqSize) {
    absl::StrAppend(&what, " of virtqueue ", command.queue_index);
  }
  if (command.kind == CommandKind::kSetStatus) absl::StrAppend(&what, " ", command.value);
  return what;
}

absl::Status InitiatorHandshake::OnAnswer(const Command& command, const Completion& completion) {
  const Step answered = step();
  if (!completion.ok()) {
    // Pages are optional; without them the defaults stand.
    const bool optional = answered == Step::kGetTransportFeatures ||
                          answered == Step::kGetRequestSizes || answered == Step::kGetMaxSegments;
    if (!optional) return RefusedStatus(info_.dialect, What(command), completion);
    Proceed();
    return absl::OkStatus();
  }
  absl::Status status;
  switch (answered) {
    case Step::kConnect:
      info_.instance_id = completion.instance_id;
      info_.epoch = completion.epoch;
      break;
    case Step::kGetTransportFeatures:
      offered_transport_ = completion.value;
      break;
    case Step::kSetTransportFeatures:
      info_.transport_features = command.value;
      break;
    case Step::kGetInlineSizes:
      // What this side receives is bounded by its messages; what it sends it may choose.
      info_.inline_request_bytes =
          std::min(kDefaultInlineBytes, static_cast<uint32_t>(completion.value));
      info_.inline_completion_bytes = static_cast<uint32_t>(completion.value >> 32);
      if (info_.inline_completion_bytes > kDefaultInlineBytes) {
        status = UnsupportedStatus("its completions carry more inline bytes than fit here");
      }
      break;
    case Step::kGetRequestSizes:
      info_.max_out_bytes = std::min(info_.max_out_bytes, static_cast<uint32_t>(completion.value));
      info_.max_in_bytes =
          std::min(info_.max_in_bytes, static_cast<uint32_t>(completion.value >> 32));
      break;
    case Step::kGetMaxSegments:
      info_.max_segments = static_cast<uint16_t>(
          std::clamp<uint64_t>(completion.value, uint64_t{2}, uint64_t{kMaxSegments}));
      break;
    case Step::kGetNumQueues:
    case Step::kGetNumQueuesField:
      status = OnNumQueues(completion.value);
      break;
    case Step::kGetVendor:
      info_.vendor_id = static_cast<uint32_t>(completion.value);
      break;
    case Step::kGetDevice:
      info_.device_type = static_cast<uint32_t>(completion.value);
      break;
    case Step::kGetDeviceFeatures:
      status = OnDeviceFeatures(completion.value);
      break;
    case Step::kGetQueueSizes:
      status = OnQueueSize(completion.value);
      if (!status.ok() || info_.queue_sizes.size() < std::min(options_.queues, info_.num_queues)) {
        return status;  // the same step again, for the next virtqueue
      }
      break;
    default:
      if (command.kind == CommandKind::kGetStatus) {
        status = OnStatus(static_cast<uint32_t>(completion.value));
      }
      break;
  }
  if (status.ok()) Proceed();
  return status;
}

absl::Status InitiatorHandshake::OnNumQueues(uint64_t num_queues) {
  if (num_queues == 0) return ProtocolStatus("its device has no virtqueue");
  info_.num_queues = static_cast<uint16_t>(std::min<uint64_t>(num_queues, kMaxQueuesPerInstance));
  return absl::OkStatus();
}

absl::Status InitiatorHandshake::OnDeviceFeatures(uint64_t offered) {
  info_.offered_features = offered;
  info_.features = offered & (options_.wanted_features | kFeatureVersion1) & ~kFeaturesNeverOffered;
  if (info_.dialect == Dialect::kV5 && (offered & kFeatureVersion1) == 0) {
    return UnsupportedStatus(
        "the device does not offer VERSION_1: it is a legacy device, which this initiator cannot "
        "drive");
  }
  return absl::OkStatus();
}

absl::Status InitiatorHandshake::OnQueueSize(uint64_t size) {
  if (size == 0) {
    return ProtocolStatus(absl::StrCat("virtqueue ", info_.queue_sizes.size(), " has the size 0"));
  }
  const uint16_t offered = ClampQueueSize(size);
  const uint16_t wanted = options_.queue_size == 0 ? offered : options_.queue_size;
  info_.queue_sizes.push_back(std::min(offered, wanted));
  return absl::OkStatus();
}

absl::Status InitiatorHandshake::OnStatus(uint32_t status) const {
  const uint32_t expected = StatusBits(step());
  if ((status & (virtio_status::kNeedsReset | virtio_status::kFailed)) != 0) {
    return ProtocolStatus(absl::StrCat("the device failed (status ", status, ")"));
  }
  if (step() == Step::kCheckFeaturesOk && (status & virtio_status::kFeaturesOk) == 0) {
    return UnsupportedStatus(absl::StrCat("the device does not work with the features 0x",
                                          absl::Hex(info_.features), " that this initiator wants"));
  }
  if (status != expected) {
    return ProtocolStatus(absl::StrCat("the device status is ", status, ", not ", expected));
  }
  return absl::OkStatus();
}

}  // namespace vof
