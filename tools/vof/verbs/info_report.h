// SPDX-License-Identifier: Apache-2.0
//
// What `vof info` tells, as text and as JSON.
//
//   output.Result(InfoJson(facts), InfoText(facts));
#ifndef VOF_TOOLS_VOF_VERBS_INFO_REPORT_H_
#define VOF_TOOLS_VOF_VERBS_INFO_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/engine/initiator_handshake.h"
#include "devices/blk/client/blk_info.h"
#include "tools/vof/shell/output.h"

namespace vof {

struct DeviceFacts {
  std::string uri;
  std::string address;
  SessionInfo session;
  const BlkInfo* blk = nullptr;  // of a block device
};

Json InfoJson(const DeviceFacts& facts);
std::string InfoText(const DeviceFacts& facts);

// "block", "network", "type 42".
std::string DeviceTypeName(uint32_t device_type);
// "vof", or the number.
std::string VendorName(uint32_t vendor_id);
// Names of the bits that are set, lowest first; "bit 41" for one that has none. The names of bits 0
// to 23 depend on the device type.
std::vector<std::string> FeatureNames(uint64_t features, uint32_t device_type);
std::vector<std::string> TransportFeatureNames(uint64_t features);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_VERBS_INFO_REPORT_H_
