// SPDX-License-Identifier: Apache-2.0
//
// Which features of a network device need which others (VIRTIO 1.3, 5.1.3.1).
//
//   const uint64_t lacking = LackingNetFeatures(driver_features);
//   if (lacking != 0) ...        // e.g. TSO was asked for without checksums
//
// Pure; any thread.
#ifndef VOF_DEVICES_NET_NET_FEATURES_H_
#define VOF_DEVICES_NET_NET_FEATURES_H_

#include <cstdint>

namespace vof {

// What `features` need and do not contain; where one of several would do, all of them. 0: they fit
// together.
uint64_t LackingNetFeatures(uint64_t features);

// What of `offered` can be offered together: leaves out whatever lacks something.
uint64_t ConsistentNetFeatures(uint64_t offered);

// The bits of a guest's offloads, which CTRL_GUEST_OFFLOADS switches (5.1.6.5.6.1).
uint64_t GuestOffloadsOf(uint64_t features);

}  // namespace vof

#endif  // VOF_DEVICES_NET_NET_FEATURES_H_
