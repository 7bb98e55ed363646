// SPDX-License-Identifier: Apache-2.0
#include "devices/net/control_command.h"

#include <algorithm>

#include "core/base/little_endian.h"
#include "devices/net/net_features.h"

namespace vof {
namespace {

// What each command needs.
struct KnownCommand {
  uint8_t control_class;
  uint8_t command;
  uint64_t feature;
  ControlVerb verb;
};

constexpr KnownCommand kKnown[] = {
    {kNetControlRx, kNetRxPromiscuous, kNetFeatureControlRx, ControlVerb::kSetMode},
    {kNetControlRx, kNetRxAllMulticast, kNetFeatureControlRx, ControlVerb::kSetMode},
    {kNetControlRx, kNetRxAllUnicast, kNetFeatureControlRxExtra, ControlVerb::kSetMode},
    {kNetControlRx, kNetRxNoMulticast, kNetFeatureControlRxExtra, ControlVerb::kSetMode},
    {kNetControlRx, kNetRxNoUnicast, kNetFeatureControlRxExtra, ControlVerb::kSetMode},
    {kNetControlRx, kNetRxNoBroadcast, kNetFeatureControlRxExtra, ControlVerb::kSetMode},
    {kNetControlMac, kNetMacTableSet, kNetFeatureControlRx, ControlVerb::kSetTables},
    {kNetControlMac, kNetMacAddressSet, kNetFeatureControlMacAddress, ControlVerb::kSetAddress},
    {kNetControlVlan, kNetVlanAdd, kNetFeatureControlVlan, ControlVerb::kAddVlan},
    {kNetControlVlan, kNetVlanDelete, kNetFeatureControlVlan, ControlVerb::kDeleteVlan},
    {kNetControlAnnounce, kNetAnnounceAck, kNetFeatureGuestAnnounce, ControlVerb::kAnnounceAck},
    {kNetControlMultiQueue, kNetMultiQueuePairsSet, kNetFeatureMultiQueue, ControlVerb::kSetPairs},
    {kNetControlGuestOffloads, kNetGuestOffloadsSet, kNetFeatureControlGuestOffloads,
     ControlVerb::kSetOffloads},
};

template <typename Value>
bool ReadValue(BufferReader* in, Value* value) {
  return in->Read(static_cast<void*>(value), sizeof(Value));
}

// A count and as many addresses (5.1.6.5.2).
bool ReadTable(BufferReader* in, ControlTable* table) {
  Le32 count;
  if (!ReadValue(in, &count)) return false;
  const uint64_t table_bytes = uint64_t{count} * kMacBytes;
  if (table_bytes > in->remaining_bytes()) return false;
  table->size = std::min<size_t>(count, table->addresses.size());
  for (size_t i = 0; i < table->size; ++i) ReadValue(in, &table->addresses[i]);
  return in->Skip(table_bytes - table->size * kMacBytes);
}

ControlRule ReadAddress(BufferReader* in, ControlCommand* command) {
  if (!ReadValue(in, &command->address)) return ControlRule::kTooShort;
  const bool usable = !command->address.is_multicast() && !command->address.is_zero();
  return usable ? ControlRule::kNone : ControlRule::kBadAddress;
}

ControlRule ReadVlan(BufferReader* in, ControlCommand* command) {
  Le16 vlan_id;
  if (!ReadValue(in, &vlan_id)) return ControlRule::kTooShort;
  command->vlan_id = vlan_id;
  return command->vlan_id < kNumVlanIds ? ControlRule::kNone : ControlRule::kBadVlan;
}

ControlRule ReadPairs(BufferReader* in, const ControlLimits& limits, ControlCommand* command) {
  Le16 pairs;
  if (!ReadValue(in, &pairs)) return ControlRule::kTooShort;
  command->pairs = pairs;
  const bool there = command->pairs >= kNetMinPairs && command->pairs <= limits.max_pairs;
  return there ? ControlRule::kNone : ControlRule::kBadPairs;
}

ControlRule ReadOffloads(BufferReader* in, const ControlLimits& limits, ControlCommand* command) {
  Le64 offloads;
  if (!ReadValue(in, &offloads)) return ControlRule::kTooShort;
  command->offloads = offloads;
  const bool negotiated = (command->offloads & ~GuestOffloadsOf(limits.features)) == 0;
  // They go together as features do.
  const bool fits = LackingNetFeatures(command->offloads) == 0;
  return negotiated && fits ? ControlRule::kNone : ControlRule::kBadOffloads;
}

ControlRule ReadData(BufferReader* in, const ControlLimits& limits, ControlCommand* command) {
  switch (command->verb) {
    case ControlVerb::kSetMode: {
      uint8_t on = 0;
      if (!ReadValue(in, &on)) return ControlRule::kTooShort;
      command->on = on != 0;
      return ControlRule::kNone;
    }
    case ControlVerb::kSetTables: {
      const bool whole = ReadTable(in, &command->unicast) && ReadTable(in, &command->multicast);
      return whole ? ControlRule::kNone : ControlRule::kTooShort;
    }
    case ControlVerb::kSetAddress:
      return ReadAddress(in, command);
    case ControlVerb::kAddVlan:
    case ControlVerb::kDeleteVlan:
      return ReadVlan(in, command);
    case ControlVerb::kAnnounceAck:
      return ControlRule::kNone;
    case ControlVerb::kSetPairs:
      return ReadPairs(in, limits, command);
    case ControlVerb::kSetOffloads:
      return ReadOffloads(in, limits, command);
  }
  return ControlRule::kUnknown;
}

}  // namespace

std::string_view DescribeControlRule(ControlRule rule) {
  switch (rule) {
    case ControlRule::kNone:
      return "nothing is wrong";
    case ControlRule::kNoRoomForAck:
      return "a control command without room for its answer";
    case ControlRule::kTooShort:
      return "a control command that ends before its data do";
    case ControlRule::kTooLong:
      return "a control command that goes on behind its data";
    case ControlRule::kUnknown:
      return "a control command of an unknown class or number";
    case ControlRule::kNotNegotiated:
      return "a control command whose feature was not negotiated";
    case ControlRule::kBadVlan:
      return "a VLAN of 4096 or more";
    case ControlRule::kBadPairs:
      return "more queue pairs than the device has, or none";
    case ControlRule::kBadOffloads:
      return "offloads that were not negotiated, or that lack one they need";
    case ControlRule::kBadAddress:
      return "an address that cannot be a device's own: zero or a group";
  }
  return "unknown";
}

ControlRule ParseControl(std::span<const ConstBuffer> readable, uint32_t writable_bytes,
                         const ControlLimits& limits, ControlCommand* command) {
  if (writable_bytes == 0) return ControlRule::kNoRoomForAck;
  BufferReader in(readable);
  NetControlHeader header;
  if (!ReadValue(&in, &header)) return ControlRule::kTooShort;
  const auto* const known =
      std::find_if(std::begin(kKnown), std::end(kKnown), [&](const KnownCommand& candidate) {
        return candidate.control_class == header.control_class &&
               candidate.command == header.command;
      });
  if (known == std::end(kKnown)) return ControlRule::kUnknown;
  if ((limits.features & known->feature) == 0) return ControlRule::kNotNegotiated;
  command->verb = known->verb;
  command->mode = header.command;
  if (const ControlRule rule = ReadData(&in, limits, command); rule != ControlRule::kNone) {
    return rule;
  }
  return in.remaining_bytes() == 0 ? ControlRule::kNone : ControlRule::kTooLong;
}

}  // namespace vof
