// SPDX-License-Identifier: Apache-2.0
#include "devices/net/learning_switch.h"

#include <algorithm>

namespace vof {
namespace {

// Of what a port may flood in a second, so much at once.
constexpr double kBurstShare = 0.1;

Forwarding Dropped(SwitchDrop reason) { return {.kind = Forwarding::kDrop, .reason = reason}; }

}  // namespace

std::optional<uint32_t> LearningSwitch::AddPort(const SwitchPortOptions& options) {
  const auto free =
      std::find_if(ports_.begin(), ports_.end(), [](const Port& port) { return !port.is_used; });
  const auto number = static_cast<uint32_t>(free - ports_.begin());
  if (number == options_.max_ports) return std::nullopt;
  if (free == ports_.end()) ports_.emplace_back();
  ports_[number] = Port();
  ports_[number].is_used = true;
  ports_[number].vlan_id = options.vlan_id;
  return number;
}

void LearningSwitch::RemovePort(uint32_t port) {
  addresses_.Forget(port);
  ports_[port] = Port();
}

// A port of one VLAN has frames without tags, whatever VLAN that is.
TagAction LearningSwitch::TagFor(const Port& from, const Port& to) {
  if ((from.vlan_id == 0) == (to.vlan_id == 0)) return TagAction::kKeep;
  return from.vlan_id != 0 ? TagAction::kAdd : TagAction::kRemove;
}

bool LearningSwitch::MayFlood(Port* port, MonotonicTime now) const {
  const double rate = options_.max_floods_per_second;
  const double most = std::max(1.0, rate * kBurstShare);
  const double passed_s =
      static_cast<double>(now - port->refilled_at) / static_cast<double>(kNanosecondsPerSecond);
  port->floods_left = std::min(most, port->floods_left + passed_s * rate);
  port->refilled_at = now;
  if (port->floods_left < 1) return false;
  port->floods_left -= 1;
  return true;
}

Forwarding LearningSwitch::Forward(uint32_t from, const FrameHead& head, MonotonicTime now) {
  Port& port = ports_[from];
  if (head.source.is_multicast() || head.source.is_zero()) {
    return Dropped(SwitchDrop::kGroupSource);
  }
  if (port.vlan_id != 0 && head.head_bytes != kFrameHeadBytes) {
    return Dropped(SwitchDrop::kTagNotAllowed);
  }
  const uint16_t vlan_id = port.vlan_id != 0 ? port.vlan_id : head.vlan_id;
  addresses_.Learn(head.source, vlan_id, from, now);
  Forwarding to;
  to.vlan_id = vlan_id;
  const std::optional<uint32_t> known = head.destination.is_multicast()
                                            ? std::nullopt
                                            : addresses_.Find(head.destination, vlan_id, now);
  if (!known.has_value()) {
    if (!MayFlood(&port, now)) return Dropped(SwitchDrop::kFloodLimit);
    to.kind = Forwarding::kFlood;
    return to;
  }
  if (*known == from) return Dropped(SwitchDrop::kSamePort);
  if (!IsIn(ports_[*known], vlan_id)) return Dropped(SwitchDrop::kOtherVlan);
  to.kind = Forwarding::kOne;
  to.port = *known;
  to.tag = TagFor(port, ports_[*known]);
  return to;
}

}  // namespace vof
