// SPDX-License-Identifier: Apache-2.0
//
// Where a switch has seen whom: the port behind which an address was last heard, for each VLAN.
//
//   MacTable table({.max_entries = 4096, .age = Milliseconds(300'000)});
//   table.Learn(head.source, head.vlan_id, port, now);
//   const std::optional<uint32_t> to = table.Find(head.destination, head.vlan_id, now);
//   if (!to) Flood(frame);
//
// One thread. Takes its memory when it is made: a peer that invents addresses fills its own share
// and then replaces its own.
#ifndef VOF_DEVICES_NET_MAC_TABLE_H_
#define VOF_DEVICES_NET_MAC_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/time.h"
#include "devices/net/mac_address.h"

namespace vof {

struct MacTableOptions {
  size_t max_entries = 8192;
  // What one port may fill: the others keep being found.
  size_t max_entries_per_port = 1024;
  Nanoseconds age = 300 * kNanosecondsPerSecond;  // IEEE 802.1D
};

class MacTable {
 public:
  explicit MacTable(const MacTableOptions& options);

  // Groups and zero are nobody's address. An address that was heard behind another port has moved.
  // False when the port's share is used up by addresses that are not too old: it is not learnt.
  bool Learn(const MacAddress& mac, uint16_t vlan_id, uint32_t port, MonotonicTime now);
  // Nothing when it was never heard, or too long ago.
  std::optional<uint32_t> Find(const MacAddress& mac, uint16_t vlan_id, MonotonicTime now) const;
  // Forgets a port that went away.
  void Forget(uint32_t port);
  size_t num_entries() const { return num_entries_; }

 private:
  struct Entry {
    uint64_t key = 0;  // 0: free
    uint32_t port = 0;
    MonotonicTime heard_at = 0;
  };

  static uint64_t KeyOf(const MacAddress& mac, uint16_t vlan_id);
  bool IsOld(const Entry& entry, MonotonicTime now) const;
  size_t HomeOf(uint64_t key) const;
  // Where the key is, or the free place where it would be.
  size_t PlaceOf(uint64_t key) const;
  void Remove(size_t place);
  size_t& CountOf(uint32_t port);
  template <typename Predicate>
  void RemoveIf(const Predicate& goes);
  void RemoveOld(MonotonicTime now);

  const MacTableOptions options_;
  std::vector<Entry> entries_;  // open addressing; twice as many as may be used
  std::vector<size_t> counts_;  // by port
  size_t num_entries_ = 0;
  MonotonicTime cleaned_at_ = 0;
};

}  // namespace vof

#endif  // VOF_DEVICES_NET_MAC_TABLE_H_
