// SPDX-License-Identifier: Apache-2.0
//
// Decides where the frames of a layer 2 switch go (IEEE 802.1D, 802.1Q); moves none.
//
//   LearningSwitch rules({});
//   const std::optional<uint32_t> port = rules.AddPort({.vlan_id = 7});
//   const Forwarding to = rules.Forward(*port, head, now);
//   if (to.kind == Forwarding::kOne) Send(to.port, to.tag);
//   if (to.kind == Forwarding::kFlood) rules.ForEachTarget(*port, to.vlan_id, [](port, tag) { ...
//   }); if (to.kind == Forwarding::kDrop) ++drops[to.reason];
//
// One thread. Takes memory when ports are added, none for a frame.
#ifndef VOF_DEVICES_NET_LEARNING_SWITCH_H_
#define VOF_DEVICES_NET_LEARNING_SWITCH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/time.h"
#include "devices/net/frame.h"
#include "devices/net/mac_table.h"

namespace vof {

struct SwitchPortOptions {
  // What is behind the port belongs to this VLAN and knows nothing of it: its frames have no tags,
  // and it sees no other VLAN. 0: the port is in every VLAN, frames pass with their tags.
  uint16_t vlan_id = 0;
};

struct SwitchOptions {
  MacTableOptions addresses = {};
  uint32_t max_ports = 1024;
  // Frames to groups and to addresses that nobody knows go to every port of the VLAN: from one port
  // so many in a second, a tenth of them at once.
  uint32_t max_floods_per_second = 10'000;
};

// What happens to the tag of a frame on its way out.
enum class TagAction : uint8_t { kKeep, kAdd, kRemove };

enum class SwitchDrop : uint8_t {
  kNone,
  kGroupSource,    // from a group's address, or from nobody's
  kTagNotAllowed,  // a tag from a port that is in one VLAN
  kSamePort,       // to an address behind the port it came from
  kFloodLimit,     // its port has flooded enough
  kOtherVlan,      // to an address behind a port that is not in the VLAN
};
inline constexpr int kNumSwitchDrops = 6;

struct Forwarding {
  enum Kind : uint8_t { kDrop, kOne, kFlood };
  Kind kind = kDrop;
  SwitchDrop reason = SwitchDrop::kNone;  // kDrop
  uint32_t port = 0;                      // kOne
  TagAction tag = TagAction::kKeep;       // kOne
  uint16_t vlan_id = 0;                   // where the frame is; 0: in none
};

class LearningSwitch {
 public:
  explicit LearningSwitch(const SwitchOptions& options)
      : options_(options), addresses_(options.addresses) {}

  // Nothing when there are max_ports. Numbers are used again. `options.vlan_id` < kNumVlanIds.
  std::optional<uint32_t> AddPort(const SwitchPortOptions& options);
  void RemovePort(uint32_t port);

  // Learns whom the frame is from. `from` is a port.
  Forwarding Forward(uint32_t from, const FrameHead& head, MonotonicTime now);

  // The ports that a frame of this VLAN from `from` is flooded to: visit(port, tag action).
  template <typename Visit>
  void ForEachTarget(uint32_t from, uint16_t vlan_id, const Visit& visit) const {
    for (uint32_t port = 0; port < ports_.size(); ++port) {
      if (port == from || !ports_[port].is_used || !IsIn(ports_[port], vlan_id)) continue;
      visit(port, TagFor(ports_[from], ports_[port]));
    }
  }

  size_t num_addresses() const { return addresses_.num_entries(); }

 private:
  struct Port {
    bool is_used = false;
    uint16_t vlan_id = 0;
    double floods_left = 0;
    MonotonicTime refilled_at = 0;
  };

  static bool IsIn(const Port& port, uint16_t vlan_id) {
    return port.vlan_id == 0 || port.vlan_id == vlan_id;
  }
  static TagAction TagFor(const Port& from, const Port& to);
  bool MayFlood(Port* port, MonotonicTime now) const;

  const SwitchOptions options_;
  MacTable addresses_;
  std::vector<Port> ports_;
};

}  // namespace vof

#endif  // VOF_DEVICES_NET_LEARNING_SWITCH_H_
