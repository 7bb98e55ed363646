// SPDX-License-Identifier: Apache-2.0
#include "devices/net/receive_filter.h"

#include <algorithm>

namespace vof {

void ReceiveFilter::Table::Set(std::span<const MacAddress> addresses) {
  overflows_ = addresses.size() > addresses_.size();
  size_ = overflows_ ? 0 : addresses.size();
  const auto end = std::copy_n(addresses.begin(), size_, addresses_.begin());
  std::sort(addresses_.begin(), end);
}

bool ReceiveFilter::Table::Has(const MacAddress& mac) const {
  return overflows_ || std::binary_search(addresses_.begin(), addresses_.begin() + size_, mac);
}

ReceiveFilter::ReceiveFilter(const MacAddress& own, uint64_t driver_features)
    : own_(own), filters_vlans_((driver_features & kNetFeatureControlVlan) != 0) {
  modes_.set(kNetRxPromiscuous);
}

bool ReceiveFilter::SetMode(uint8_t mode, bool on) {
  if (mode >= modes_.size()) return false;
  modes_.set(mode, on);
  return true;
}

void ReceiveFilter::SetTables(std::span<const MacAddress> unicast,
                              std::span<const MacAddress> multicast) {
  unicast_.Set(unicast);
  multicast_.Set(multicast);
}

bool ReceiveFilter::AcceptsAddress(const MacAddress& destination) const {
  if (modes_[kNetRxPromiscuous]) return true;
  if (destination.is_broadcast()) return !modes_[kNetRxNoBroadcast];
  if (destination.is_multicast()) {
    if (modes_[kNetRxNoMulticast]) return false;
    return modes_[kNetRxAllMulticast] || multicast_.Has(destination);
  }
  if (modes_[kNetRxNoUnicast]) return false;
  return modes_[kNetRxAllUnicast] || destination == own_ || unicast_.Has(destination);
}

bool ReceiveFilter::Accepts(const FrameHead& head) const {
  const bool vlan_passes = !filters_vlans_ || head.vlan_id == 0 || vlans_[head.vlan_id];
  return vlan_passes && AcceptsAddress(head.destination);
}

}  // namespace vof
