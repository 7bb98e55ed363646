// SPDX-License-Identifier: Apache-2.0
//
// The host to print for an address that one listens on.
//
//   AdvertisedHost("10.0.0.7")  -> "10.0.0.7"
//   AdvertisedHost("0.0.0.0")   -> "10.0.0.7"    an address of this machine: "any" cannot be
//   connected to AdvertisedHost("::")        -> "2001:db8::7"
#ifndef VOF_TOOLS_VOF_TARGET_ADVERTISED_HOST_H_
#define VOF_TOOLS_VOF_TARGET_ADVERTISED_HOST_H_

#include <string>

namespace vof {

// A wildcard becomes the first address of the same family that other hosts may reach (up, not
// loopback, not link-local), or the loopback address when there is none. Anything else stays as it
// is. Asks the kernel; control threads only.
std::string AdvertisedHost(const std::string& host);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TARGET_ADVERTISED_HOST_H_
