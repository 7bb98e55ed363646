// SPDX-License-Identifier: Apache-2.0
//
// Receive memory, registered with a domain: of one channel, or of all that share a receive context
// of the provider.
//
//   auto receives = OfiReceives::Own(domain, receive_bytes);
//   receives->Want(queue_size + 1);
//   receives->Post(ep);                                 // what the provider has room for
//   ... receives->Arrived(context, entry.len, this) ...
//   receives->Return(tag, this);
//
// Of one channel: one thread. Shared: any thread; depths that channels want add up, whoever gets a
// message takes a receive, so one channel may use those of another, and one that ends takes its
// part back.
#ifndef VOF_BACKENDS_OFI_OFI_RECEIVES_H_
#define VOF_BACKENDS_OFI_OFI_RECEIVES_H_

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/ofi/ofi_context.h"
#include "backends/ofi/ofi_domain.h"
#include "backends/ofi/ofi_handle.h"
#include "core/transport/domain.h"

namespace vof {

class OfiReceives {
 public:
  static std::shared_ptr<OfiReceives> Own(std::shared_ptr<OfiDomain> domain,
                                          uint32_t receive_bytes);
  // Those of the domain, made when somebody uses them; null when its options do not ask for them or
  // the provider has no such contexts.
  static absl::StatusOr<std::shared_ptr<OfiReceives>> SharedOf(
      const std::shared_ptr<OfiDomain>& domain, const fi_info& info);
  OfiReceives(const OfiReceives&) = delete;
  OfiReceives& operator=(const OfiReceives&) = delete;

  // To bind to an endpoint that is opened with FI_SHARED_CONTEXT; null: of one channel.
  fid_ep* shared_context() const { return shared_context_.get(); }

  // Adds to what is wanted in all; the new ones wait for Post. kResourceExhausted names the limit.
  absl::Status Want(int more);
  // Posts what waits, to `ep` unless they are shared. False when the provider refused for good.
  bool Post(fid_ep* ep);

  // A message of `size_bytes` lies in the receive of this context, and is `owner`'s until Return.
  std::span<const std::byte> Arrived(const OfiContext& context, size_t size_bytes,
                                     const void* owner);
  // It waits for Post again. What is not the owner's is ignored.
  void Return(uint64_t tag, const void* owner);
  // The provider has given up a receive that was posted.
  void Dropped(const OfiContext& context);
  // An owner that wanted `count` ends: what it still held is posted for the others.
  void Leave(const void* owner, int count);

 private:
  struct Receive {
    OfiContext context;
    std::byte* memory = nullptr;
    void* descriptor = nullptr;
    const void* owner = nullptr;
  };
  struct Slab {
    std::unique_ptr<std::byte[]> memory;
    Region region;  // ends before the memory
  };

  OfiReceives(std::shared_ptr<OfiDomain> domain, uint32_t receive_bytes, int max_receives);
  static absl::StatusOr<std::shared_ptr<OfiReceives>> MakeShared(std::shared_ptr<OfiDomain> domain,
                                                                 const fi_info& info);
  // Held while they are shared; a channel's own have no need of it.
  std::unique_lock<std::mutex> Lock();
  absl::Status Grow(size_t added);
  bool PostLocked(fid_ep* ep);

  const std::shared_ptr<OfiDomain> domain_;
  const uint32_t receive_bytes_;
  const int max_receives_;
  std::mutex mutex_;
  int wanted_ = 0;
  std::vector<Slab> slabs_;
  std::deque<Receive> receives_;  // stay in place: the provider knows their contexts
  std::vector<uint32_t> unposted_;
  FidPtr<fid_ep> shared_context_;  // ends before the memory
};

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_OFI_RECEIVES_H_
