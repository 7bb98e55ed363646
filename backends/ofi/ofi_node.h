// SPDX-License-Identifier: Apache-2.0
//
// Addresses as fi_getinfo takes and gives them.
#ifndef VOF_BACKENDS_OFI_OFI_NODE_H_
#define VOF_BACKENDS_OFI_OFI_NODE_H_

#include <rdma/fabric.h>

#include <string>

#include "backends/common/socket_address.h"

namespace vof {

// The host without the brackets of a URI: "192.0.2.1", "2001:db8::1".
inline std::string NumericNode(const SocketAddress& address) {
  std::string text = address.HostText();
  if (text.size() > 2 && text.front() == '[') text = text.substr(1, text.size() - 2);
  return text;
}

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_OFI_NODE_H_
