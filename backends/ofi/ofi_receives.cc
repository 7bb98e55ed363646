// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/ofi_receives.h"

#include <rdma/fi_errno.h>
#include <sys/uio.h>

#include <utility>

#include "absl/status/statusor.h"

namespace vof {

absl::Status OfiReceives::Grow(int count) {
  if (count <= static_cast<int>(receives_.size())) return absl::OkStatus();
  const size_t added = static_cast<size_t>(count) - receives_.size();
  Slab slab;
  slab.memory = std::make_unique<std::byte[]>(added * receive_bytes_);
  absl::StatusOr<Region> region =
      domain_->Register(MutableBuffer(slab.memory.get(), added * receive_bytes_), Access::kLocal);
  if (!region.ok()) return region.status();
  slab.region = *std::move(region);
  void* const descriptor =
      static_cast<const OfiRegistration*>(slab.region.local_key())->descriptor();
  unposted_.reserve(static_cast<size_t>(count));
  for (size_t i = 0; i < added; ++i) {
    Receive receive;
    receive.context.is_receive = true;
    receive.context.index = static_cast<uint32_t>(receives_.size());
    receive.memory = slab.memory.get() + i * receive_bytes_;
    receive.descriptor = descriptor;
    unposted_.push_back(receive.context.index);
    receives_.push_back(receive);
  }
  slabs_.push_back(std::move(slab));
  return absl::OkStatus();
}

bool OfiReceives::Post(fid_ep* ep) {
  while (!unposted_.empty()) {
    Receive& receive = receives_[unposted_.back()];
    const iovec memory = {receive.memory, receive_bytes_};
    fi_msg message = {};
    message.msg_iov = &memory;
    message.desc = &receive.descriptor;
    message.iov_count = 1;
    message.addr = FI_ADDR_UNSPEC;
    message.context = &receive.context;
    const ssize_t result = fi_recvmsg(ep, &message, FI_COMPLETION);
    // shm says so when it has no room for more: the rest follows when others complete.
    const bool no_room = result == -FI_ENOMEM && unposted_.size() < receives_.size();
    if (result == -FI_EAGAIN || no_room) return true;
    if (result != 0) return false;
    unposted_.pop_back();
  }
  return true;
}

}  // namespace vof
