// SPDX-License-Identifier: Apache-2.0
//
// What libfabric hands back with a completion: which post or receive it was.
//
//   fi_recvmsg(ep, &message_with_context(&receive.context), 0);
//   const OfiContext& context = *static_cast<OfiContext*>(completion.op_context);
#ifndef VOF_BACKENDS_OFI_OFI_CONTEXT_H_
#define VOF_BACKENDS_OFI_OFI_CONTEXT_H_

#include <rdma/fabric.h>

#include <cstdint>
#include <type_traits>

namespace vof {

struct OfiContext {
  fi_context2 provider;  // first, and the provider's while the operation lasts (FI_CONTEXT2)
  bool is_receive = false;
  uint32_t index = 0;
};
static_assert(std::is_standard_layout_v<OfiContext>);

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_OFI_CONTEXT_H_
