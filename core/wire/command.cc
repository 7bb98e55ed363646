// SPDX-License-Identifier: Apache-2.0
#include "core/wire/command.h"

namespace vof {

std::string_view CommandKindName(CommandKind kind) {
  switch (kind) {
    case CommandKind::kUnknown:
      return "unknown";
    case CommandKind::kConnect:
      return "connect";
    case CommandKind::kDisconnect:
      return "disconnect";
    case CommandKind::kKeepalive:
      return "keepalive";
    case CommandKind::kGetFeature:
      return "get_feature";
    case CommandKind::kSetFeature:
      return "set_feature";
    case CommandKind::kGetKeyedNumDescs:
      return "get_keyed_num_descs";
    case CommandKind::kGetKeyedEagerBuf:
      return "get_keyed_eager_buf";
    case CommandKind::kVqKeyedEagerBuf:
      return "vq_keyed_eager_buf";
    case CommandKind::kVq:
      return "vq";
    case CommandKind::kGetVendorId:
      return "get_vendor_id";
    case CommandKind::kGetDeviceId:
      return "get_device_id";
    case CommandKind::kResetDevice:
      return "reset_device";
    case CommandKind::kGetStatus:
      return "get_status";
    case CommandKind::kSetStatus:
      return "set_status";
    case CommandKind::kGetDeviceFeature:
      return "get_device_feature";
    case CommandKind::kSetDriverFeature:
      return "set_driver_feature";
    case CommandKind::kGetVqSize:
      return "get_vq_size";
    case CommandKind::kSetVqSize:
      return "set_vq_size";
    case CommandKind::kGetConfig:
      return "get_config";
    case CommandKind::kSetConfig:
      return "set_config";
    case CommandKind::kGetNumQueues:
      return "get_num_queues";
    case CommandKind::kGetGeneration:
      return "get_generation";
    case CommandKind::kGetConfigChanged:
      return "get_config_changed";
  }
  return "unknown";
}

std::string_view CauseText(Cause cause) {
  switch (cause) {
    case Cause::kOk:
      return "success";
    case Cause::kUnknownCommand:
      return "the target does not know this command or has it disabled";
    case Cause::kTooManyCommands:
      return "more commands in flight than the queue holds";
    case Cause::kUnknownName:
      return "the target serves no device under this name; vof-target prints the names it serves";
    case Cause::kExclusiveUse:
      return "the device is in use by another session, or the target is at a limit (its log says "
             "which): end the other one, or serve the device with shared=true";
    case Cause::kLimit:
      return "the target is at one of its limits";
    case Cause::kAccess:
      return "this initiator may not use the device";
    case Cause::kNoInstance:
      return "the target has no such device instance";
    case Cause::kNamesDiffer:
      return "names or session token differ from those of the control queue";
    case Cause::kQueueIndex:
      return "the device has no virtqueue of this index";
    case Cause::kQueueBusy:
      return "the virtqueue is in use or still draining";
    case Cause::kQueueSize:
      return "the queue size is not possible for this virtqueue";
    case Cause::kFeature:
      return "the transport feature page or its bits are not available";
    case Cause::kStatus:
      return "the device status does not allow this now";
    case Cause::kDeviceFeature:
      return "the device feature page or its bits are not available";
    case Cause::kConfigOffset:
      return "the access lies outside the configuration space or is not writable";
    case Cause::kConfigBytes:
      return "a configuration access must be 1, 2, 4 or 8 bytes";
    case Cause::kOutLength:
      return "the device-readable part of the request is too long or damaged";
    case Cause::kInLength:
      return "the device-writable part of the request is too long";
    case Cause::kUnknown:
      return "the target answered with a status that says no more than its number";
  }
  return "the target answered with a status that says no more than its number";
}

}  // namespace vof
