// SPDX-License-Identifier: Apache-2.0
//
// The receive memory of one channel: registered, posted, handed out, posted again.
//
//   OfiReceives receives(domain, receive_bytes);
//   receives.Grow(queue_size + 1);
//   receives.Post(ep);                                  // what the provider has room for
//   const OfiArrival arrival = receives.Arrived(context, entry);
//   receives.Return(arrival.tag);
#ifndef VOF_BACKENDS_OFI_OFI_RECEIVES_H_
#define VOF_BACKENDS_OFI_OFI_RECEIVES_H_

#include <rdma/fi_endpoint.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "backends/ofi/ofi_context.h"
#include "backends/ofi/ofi_domain.h"
#include "core/transport/domain.h"

namespace vof {

class OfiReceives {
 public:
  OfiReceives(std::shared_ptr<OfiDomain> domain, uint32_t receive_bytes)
      : domain_(std::move(domain)), receive_bytes_(receive_bytes) {}

  // To `count` of them; the new ones wait for Post.
  absl::Status Grow(int count);
  // Posts what waits. False when the provider refused for good.
  bool Post(fid_ep* ep);
  bool has_unposted() const { return !unposted_.empty(); }
  std::span<const std::byte> Memory(uint32_t index, size_t size_bytes) const {
    return {receives_[index].memory, size_bytes};
  }
  // Of one that arrived: it waits for Post again. Another tag is ignored.
  void Return(uint64_t tag) {
    if (tag < receives_.size()) unposted_.push_back(static_cast<uint32_t>(tag));
  }

 private:
  struct Receive {
    OfiContext context;
    std::byte* memory = nullptr;
    void* descriptor = nullptr;
  };
  struct Slab {
    std::unique_ptr<std::byte[]> memory;
    Region region;  // ends before the memory
  };

  const std::shared_ptr<OfiDomain> domain_;
  const uint32_t receive_bytes_;
  std::vector<Slab> slabs_;
  std::deque<Receive> receives_;  // stay in place: the provider knows their contexts
  std::vector<uint32_t> unposted_;
};

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_OFI_RECEIVES_H_
