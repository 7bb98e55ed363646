// SPDX-License-Identifier: Apache-2.0
//
// Which frames a network device hands to its driver (VIRTIO 1.3, 5.1.6.5.1 to 5.1.6.5.3).
//
//   ReceiveFilter filter(mac, driver_features);
//   filter.SetMode(kNetRxPromiscuous, false);
//   filter.SetTables(unicast, multicast);
//   if (filter.Accepts(head)) ...
//
// A value: the control queue changes one and hands copies to the queues that ask it. Does not
// allocate.
#ifndef VOF_DEVICES_NET_RECEIVE_FILTER_H_
#define VOF_DEVICES_NET_RECEIVE_FILTER_H_

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>

#include "devices/net/frame.h"
#include "devices/net/mac_address.h"

namespace vof {

// Of each table, as many as other devices take. A longer one is taken as "all of that kind", which
// the specification allows: filtering is best effort.
inline constexpr size_t kMostFilterAddresses = 64;

class ReceiveFilter {
 public:
  // Promiscuous until the driver says otherwise. Without CTRL_VLAN every VLAN passes, with it none
  // until it is added.
  ReceiveFilter(const MacAddress& own, uint64_t driver_features);

  const MacAddress& own() const { return own_; }
  void SetOwn(const MacAddress& own) { own_ = own; }
  // One of kNetRx...; false: there is no such mode.
  bool SetMode(uint8_t mode, bool on);
  // Replace both tables.
  void SetTables(std::span<const MacAddress> unicast, std::span<const MacAddress> multicast);
  // `vlan_id` < kNumVlanIds.
  void SetVlan(uint16_t vlan_id, bool passes) { vlans_.set(vlan_id, passes); }

  bool Accepts(const FrameHead& head) const;

 private:
  class Table {
   public:
    void Set(std::span<const MacAddress> addresses);
    bool Has(const MacAddress& mac) const;

   private:
    // Sorted.
    std::array<MacAddress, kMostFilterAddresses> addresses_;
    size_t size_ = 0;
    bool overflows_ = false;
  };

  bool AcceptsAddress(const MacAddress& destination) const;

  MacAddress own_;
  std::bitset<6> modes_;
  Table unicast_, multicast_;
  bool filters_vlans_;
  std::bitset<kNumVlanIds> vlans_;
};

}  // namespace vof

#endif  // VOF_DEVICES_NET_RECEIVE_FILTER_H_
