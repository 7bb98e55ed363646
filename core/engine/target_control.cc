// SPDX-License-Identifier: Apache-2.0
#include "core/engine/target_control.h"

#include <algorithm>
#include <utility>

#include "core/engine/virtio_status.h"

namespace vof {
namespace {

Cause ToCause(ConfigError error) {
  switch (error) {
    case ConfigError::kNone:
      return Cause::kOk;
    case ConfigError::kBytes:
      return Cause::kConfigBytes;
    case ConfigError::kOffset:
    case ConfigError::kReadOnly:
      return Cause::kConfigOffset;
  }
  return Cause::kConfigOffset;
}

bool IsConfigWidth(uint8_t bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8; }

}  // namespace

ControlServer::ControlServer(Config config)
    : config_(std::move(config)), is_v5_(config_.instance->identity().dialect == Dialect::kV5) {
  if (config_.is_control_queue) Subscribe();
}

bool ControlServer::IsPending(uint16_t command_id) const {
  return std::find(pending_ids_.begin(), pending_ids_.end(), command_id) != pending_ids_.end();
}

void ControlServer::OnLaterAnswered(uint16_t command_id) {
  const auto it = std::find(pending_ids_.begin(), pending_ids_.end(), command_id);
  if (it != pending_ids_.end()) pending_ids_.erase(it);
}

bool ControlServer::Execute(const Command& command, Completion* completion) {
  const InstanceIdentity& identity = config_.instance->identity();
  completion->command_id = command.command_id;
  switch (command.kind) {
    case CommandKind::kKeepalive:
      return Keepalive(command, completion);
    case CommandKind::kGetFeature:
      return GetFeature(command, completion);
    case CommandKind::kSetFeature:
      return SetFeature(command, completion);
    case CommandKind::kGetVendorId:
      return AnswerValue(identity.device->identity().vendor_id, completion);
    case CommandKind::kGetDeviceId:
      return AnswerValue(identity.device->identity().device_type, completion);
    case CommandKind::kResetDevice:
      return Reset(command);
    case CommandKind::kGetStatus:
      return AnswerValue(config_.instance->state().status, completion);
    case CommandKind::kSetStatus:
      return command.value == 0 ? Reset(command) : SetStatus(command, completion);
    case CommandKind::kGetDeviceFeature:
      if (command.select != 0) return Answer(Cause::kDeviceFeature, completion);
      return AnswerValue(identity.offered_features, completion);
    case CommandKind::kSetDriverFeature:
      return SetDriverFeature(command, completion);
    case CommandKind::kGetVqSize:
      return GetVqSize(command, completion);
    case CommandKind::kSetVqSize:
      return Answer(config_.instance->SetQueueSize(command.queue_index, command.value), completion);
    case CommandKind::kGetConfig:
      return GetConfig(command, completion);
    case CommandKind::kSetConfig:
      return SetConfig(command, completion);
    case CommandKind::kGetNumQueues:
      return GetNumQueues(completion);
    case CommandKind::kGetGeneration:
      return AnswerValue(ConfigGeneration(), completion);
    case CommandKind::kGetConfigChanged:
      return GetConfigChanged(command, completion);
    case CommandKind::kUnknown:
    case CommandKind::kConnect:           // the stream's
    case CommandKind::kDisconnect:        // the stream's
    case CommandKind::kVq:                // the stream's
    case CommandKind::kGetKeyedNumDescs:  // keyed, and no bit for them is ever accepted
    case CommandKind::kGetKeyedEagerBuf:
    case CommandKind::kVqKeyedEagerBuf:
      break;
  }
  return Answer(Cause::kUnknownCommand, completion);
}

bool ControlServer::Keepalive(const Command& command, Completion* completion) {
  if (command.interval_ms != 0) {
    const uint32_t interval_ms = std::clamp(command.interval_ms, kMinKeepaliveMs, kMaxKeepaliveMs);
    silence_limit_ = kMissedKeepalives * Milliseconds(interval_ms);
  }
  return Answer(Cause::kOk, completion);
}

uint64_t ControlServer::OfferedTransportFeatures() const {
  const uint64_t implemented = IsKeyed() ? kKeyedTransportFeatures : kImplementedTransportFeatures;
  return config_.directory->options().transport_features & implemented;
}

bool ControlServer::GetFeature(const Command& command, Completion* completion) {
  const TargetOptions& options = config_.directory->options();
  if (!is_v5_) {
    return command.select == 0 ? AnswerValue(kMaxSegments, completion)
                               : Answer(Cause::kFeature, completion);
  }
  switch (command.select) {
    case kFeaturePageBits:
      return AnswerValue(OfferedTransportFeatures(), completion);
    case kFeaturePageRequestSizes:
      return AnswerValue(options.max_out_bytes | static_cast<uint64_t>(options.max_in_bytes) << 32,
                         completion);
    case kFeaturePageInlineSizes:
      if (!IsKeyed()) return Answer(Cause::kFeature, completion);
      return AnswerValue(options.inline_request_bytes |
                             static_cast<uint64_t>(options.inline_completion_bytes) << 32,
                         completion);
    default:
      return Answer(Cause::kFeature, completion);
  }
}

bool ControlServer::SetFeature(const Command& command, Completion* completion) {
  if (is_v5_ && command.select == kFeaturePageInlineSizes) {
    return SetInlineSizes(command.value, completion);
  }
  if (command.select != kFeaturePageBits) return Answer(Cause::kFeature, completion);
  if (!is_v5_) {  // the most segments that the initiator will send
    const bool acceptable = command.value > 0 && command.value <= kMaxSegments;
    return Answer(acceptable ? Cause::kOk : Cause::kFeature, completion);
  }
  if ((command.value & ~OfferedTransportFeatures()) != 0)
    return Answer(Cause::kFeature, completion);
  const bool in_time = config_.instance->SetTransportFeatures(command.value);
  return Answer(in_time ? Cause::kOk : Cause::kFeature, completion);
}

// Both may only shrink.
bool ControlServer::SetInlineSizes(uint64_t sizes, Completion* completion) {
  const TargetOptions& options = config_.directory->options();
  const auto request_bytes = static_cast<uint32_t>(sizes);
  const auto completion_bytes = static_cast<uint32_t>(sizes >> 32);
  const bool acceptable = IsKeyed() && request_bytes <= options.inline_request_bytes &&
                          completion_bytes <= options.inline_completion_bytes &&
                          config_.instance->SetInlineSizes(request_bytes, completion_bytes);
  return Answer(acceptable ? Cause::kOk : Cause::kFeature, completion);
}

Cause ControlServer::CheckStatus(const InstanceState& now, uint32_t* status) const {
  const uint32_t added = *status & ~now.status;
  const bool features_acceptable = (added & virtio_status::kFeaturesOk) == 0 ||
                                   config_.instance->device().AcceptsFeatures(now.driver_features);
  if (!is_v5_) {
    // The driver reads the bit back to see whether the device agreed (virtio 1.3, 3.1.1).
    if (!features_acceptable) *status &= ~virtio_status::kFeaturesOk;
    return Cause::kOk;
  }
  if ((*status & ~virtio_status::kAll) != 0) return Cause::kStatus;
  if ((now.status & ~*status) != 0) return Cause::kStatus;  // only a reset clears bits
  if (!features_acceptable) return Cause::kStatus;
  const bool ready_without_features =
      (*status & virtio_status::kDriverOk) != 0 && (*status & virtio_status::kFeaturesOk) == 0;
  return ready_without_features ? Cause::kStatus : Cause::kOk;
}

bool ControlServer::SetStatus(const Command& command, Completion* completion) {
  auto status = static_cast<uint32_t>(command.value);
  const Cause cause = CheckStatus(config_.instance->state(), &status);
  if (cause != Cause::kOk) return Answer(cause, completion);
  config_.instance->SetStatus(status, config_.self->executor,
                              Later(CommandKind::kSetStatus, command.command_id));
  return false;
}

bool ControlServer::Reset(const Command& command) {
  event_outstanding_ = false;
  config_.instance->Reset(config_.self->executor, Later(command.kind, command.command_id));
  return false;
}

TargetInstance::Done ControlServer::Later(CommandKind kind, uint16_t command_id) {
  pending_ids_.push_back(command_id);
  return [self = config_.self, kind, command_id] {
    if (self->queue == nullptr) return;
    Completion completion;
    completion.command_id = command_id;
    self->queue->OnControlReply(kind, completion);
  };
}

bool ControlServer::SetDriverFeature(const Command& command, Completion* completion) {
  TargetInstance& instance = *config_.instance;
  if (command.select != 0) return Answer(Cause::kDeviceFeature, completion);
  if ((command.value & ~instance.identity().offered_features) != 0) {
    return Answer(Cause::kDeviceFeature, completion);
  }
  // Settled by FEATURES_OK; the reference initiator never sets it, so only DRIVER_OK counts in
  // `ref`.
  const uint32_t settled = is_v5_ ? virtio_status::kFeaturesOk : virtio_status::kDriverOk;
  if ((instance.state().status & settled) != 0) return Answer(Cause::kStatus, completion);
  instance.SetDriverFeatures(command.value);
  return Answer(Cause::kOk, completion);
}

bool ControlServer::GetVqSize(const Command& command, Completion* completion) {
  if (command.queue_index >= config_.instance->identity().num_queues) {
    return Answer(Cause::kQueueIndex, completion);
  }
  return AnswerValue(config_.instance->queue_size(command.queue_index), completion);
}

bool ControlServer::GetConfig(const Command& command, Completion* completion) {
  if (!IsConfigWidth(command.bytes)) return Answer(Cause::kConfigBytes, completion);
  ConfigValue value;
  const Device& device = config_.instance->device();
  const Cause cause = ToCause(device.ReadConfig(command.offset, command.bytes, &value));
  if (cause != Cause::kOk) return Answer(cause, completion);
  event_outstanding_ = false;
  change_unreported_ = false;
  last_told_generation_ = value.generation;
  completion->generation = value.generation;
  return AnswerValue(value.value, completion);
}

bool ControlServer::SetConfig(const Command& command, Completion* completion) {
  if (!IsConfigWidth(command.bytes)) return Answer(Cause::kConfigBytes, completion);
  Device& device = config_.instance->device();
  const Cause cause = ToCause(device.WriteConfig(command.offset, command.bytes, command.value));
  if (cause == Cause::kOk) config_.directory->NotifyConfigWritten(*config_.instance);
  return Answer(cause, completion);
}

bool ControlServer::GetNumQueues(Completion* completion) {
  const bool accepted =
      (config_.instance->state().transport_features & transport_feature::kNumQueues) != 0;
  if (is_v5_ && !accepted) return Answer(Cause::kUnknownCommand, completion);
  return AnswerValue(config_.instance->identity().num_queues, completion);
}

bool ControlServer::GetConfigChanged(const Command& command, Completion* completion) {
  if (change_unreported_) {
    change_unreported_ = false;
    return AnswerValue(1, completion);
  }
  if (waiting_for_change_.size() >= kControlQueueSize) {
    return Answer(Cause::kTooManyCommands, completion);
  }
  Subscribe();
  waiting_for_change_.push_back(command.command_id);
  return false;
}

std::vector<ControlReply> ControlServer::OnConfigChanged() {
  std::vector<ControlReply> replies;
  const uint32_t generation = ConfigGeneration();
  if (!is_v5_) {
    change_unreported_ = waiting_for_change_.empty();
    for (uint16_t command_id : std::exchange(waiting_for_change_, {})) {
      ControlReply reply{.kind = CommandKind::kGetConfigChanged, .completion = {}};
      reply.completion.command_id = command_id;
      reply.completion.value = 1;
      replies.push_back(reply);
    }
    return replies;
  }
  const bool ready = (config_.instance->state().status & virtio_status::kDriverOk) != 0;
  // A read that raced with the change has told it already.
  if (!ready || event_outstanding_ || generation == last_told_generation_) return replies;
  event_outstanding_ = true;
  last_told_generation_ = generation;
  ControlReply event{.kind = CommandKind::kGetConfig, .completion = {}};
  event.completion.command_id = kEventConfigChanged;
  event.completion.generation = generation;
  replies.push_back(event);
  return replies;
}

// 0 for a device without configuration space.
uint32_t ControlServer::ConfigGeneration() const {
  ConfigValue value;
  const bool readable = config_.instance->device().ReadConfig(0, 1, &value) == ConfigError::kNone;
  return readable ? value.generation : 0;
}

void ControlServer::Subscribe() {
  if (subscription_ != nullptr) return;
  subscription_ = config_.instance->device().SubscribeConfig([self = config_.self] {
    PostToQueue(self, [](AttachedQueue& queue) { queue.OnConfigChanged(); });
  });
}

}  // namespace vof
