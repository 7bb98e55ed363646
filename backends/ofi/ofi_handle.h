// SPDX-License-Identifier: Apache-2.0
//
// Owners of what libfabric opens and allocates.
//
//   FidPtr<fid_cq> cq;
//   fid_cq* opened = nullptr;
//   if (fi_cq_open(domain, &attributes, &opened, nullptr) == 0) cq.reset(opened);
//
// Objects have to be closed before those that they were opened from: declare them in that order.
#ifndef VOF_BACKENDS_OFI_OFI_HANDLE_H_
#define VOF_BACKENDS_OFI_OFI_HANDLE_H_

#include <rdma/fabric.h>

#include <memory>

#include "backends/ofi/fabric_library.h"

namespace vof {

struct FidCloser {
  template <typename F>
  void operator()(F* object) const {
    fi_close(&object->fid);
  }
};
template <typename F>
using FidPtr = std::unique_ptr<F, FidCloser>;

struct InfoFreer {
  void operator()(fi_info* info) const { FabricLibrary::Loaded().freeinfo(info); }
};
// A list, or one element of it.
using InfoPtr = std::unique_ptr<fi_info, InfoFreer>;

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_OFI_HANDLE_H_
