// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/ofi_receives.h"

#include <rdma/fi_errno.h>
#include <sys/uio.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/ofi/ofi_error.h"
#include "core/base/limits.h"

namespace vof {

OfiReceives::OfiReceives(std::shared_ptr<OfiDomain> domain, uint32_t receive_bytes,
                         int max_receives)
    : domain_(std::move(domain)), receive_bytes_(receive_bytes), max_receives_(max_receives) {}

std::shared_ptr<OfiReceives> OfiReceives::Own(std::shared_ptr<OfiDomain> domain,
                                              uint32_t receive_bytes) {
  return std::shared_ptr<OfiReceives>(
      new OfiReceives(std::move(domain), receive_bytes, std::numeric_limits<int>::max()));
}

absl::StatusOr<std::shared_ptr<OfiReceives>> OfiReceives::SharedOf(
    const std::shared_ptr<OfiDomain>& domain, const fi_info& info) {
  if (!domain->options().shared_receives || info.domain_attr->max_ep_srx_ctx == 0) return nullptr;
  OfiDomain::SharedReceives& known = domain->shared_receives();
  const std::lock_guard<std::mutex> lock(known.mutex);
  if (std::shared_ptr<OfiReceives> receives = known.receives.lock()) return receives;
  absl::StatusOr<std::shared_ptr<OfiReceives>> made = MakeShared(domain, info);
  if (made.ok()) known.receives = *made;
  return made;
}

absl::StatusOr<std::shared_ptr<OfiReceives>> OfiReceives::MakeShared(
    std::shared_ptr<OfiDomain> domain, const fi_info& info) {
  fid_domain* const opener = domain->domain();
  const int max_receives = domain->options().max_shared_receives;
  const auto bytes =
      static_cast<uint32_t>(std::min<size_t>(info.ep_attr->max_msg_size, kMaxMessageBytes));
  std::shared_ptr<OfiReceives> receives(new OfiReceives(std::move(domain), bytes, max_receives));
  fi_rx_attr attributes = *info.rx_attr;
  attributes.size = std::max(attributes.size, static_cast<size_t>(max_receives));
  fid_ep* opened = nullptr;
  const int result = fi_srx_context(opener, &attributes, &opened, nullptr);
  if (result != 0) {
    return OfiError(result, absl::StrCat("provider '", info.fabric_attr->prov_name,
                                         "' cannot share ", max_receives, " receives"));
  }
  receives->shared_context_.reset(opened);
  return receives;
}

std::unique_lock<std::mutex> OfiReceives::Lock() {
  std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
  if (shared_context_ != nullptr) lock.lock();
  return lock;
}

absl::Status OfiReceives::Want(int more) {
  const std::unique_lock<std::mutex> lock = Lock();
  if (more > max_receives_ - wanted_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot post ", wanted_ + more, " receives: the channels of a domain share ",
                     max_receives_, "; use smaller or fewer queues, or raise max_shared_receives"));
  }
  const int missing = wanted_ + more - static_cast<int>(receives_.size());
  if (missing > 0) {
    if (absl::Status s = Grow(static_cast<size_t>(missing)); !s.ok()) return s;
  }
  wanted_ += more;
  return absl::OkStatus();
}

absl::Status OfiReceives::Grow(size_t added) {
  Slab slab;
  slab.memory = std::make_unique<std::byte[]>(added * receive_bytes_);
  absl::StatusOr<Region> region =
      domain_->Register(MutableBuffer(slab.memory.get(), added * receive_bytes_), Access::kLocal);
  if (!region.ok()) return region.status();
  slab.region = *std::move(region);
  void* const descriptor =
      static_cast<const OfiRegistration*>(slab.region.local_key())->descriptor();
  unposted_.reserve(receives_.size() + added);
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
  const std::unique_lock<std::mutex> lock = Lock();
  return PostLocked(ep);
}

bool OfiReceives::PostLocked(fid_ep* ep) {
  if (shared_context_ != nullptr) ep = shared_context_.get();
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

std::span<const std::byte> OfiReceives::Arrived(const OfiContext& context, size_t size_bytes,
                                                const void* owner) {
  const std::unique_lock<std::mutex> lock = Lock();
  Receive& receive = receives_[context.index];
  receive.owner = owner;
  return {receive.memory, size_bytes};
}

void OfiReceives::Return(uint64_t tag, const void* owner) {
  const std::unique_lock<std::mutex> lock = Lock();
  if (tag >= receives_.size() || receives_[tag].owner != owner) return;
  receives_[tag].owner = nullptr;
  unposted_.push_back(static_cast<uint32_t>(tag));
}

void OfiReceives::Dropped(const OfiContext& context) {
  const std::unique_lock<std::mutex> lock = Lock();
  unposted_.push_back(context.index);
}

void OfiReceives::Leave(const void* owner, int count) {
  const std::unique_lock<std::mutex> lock = Lock();
  wanted_ -= count;
  if (shared_context_ == nullptr) return;
  for (Receive& receive : receives_) {
    if (receive.owner != owner) continue;
    receive.owner = nullptr;
    unposted_.push_back(receive.context.index);
  }
  (void)PostLocked(nullptr);  // else with the next message of somebody else
}

}  // namespace vof
