// SPDX-License-Identifier: Apache-2.0
#include "backends/loopback/fabric_channel.h"

#include <utility>

#include "backends/loopback/fabric_link.h"

namespace vof {

FabricChannel::FabricChannel(std::shared_ptr<FabricLink> link, int side,
                             const ChannelLimits& limits)
    : link_(std::move(link)), side_(side), limits_(limits), peer_{"loop", 0, {}} {}

FabricChannel& FabricChannel::operator=(FabricChannel&& other) noexcept {
  if (this != &other) {
    Leave();
    link_ = std::move(other.link_);
    side_ = other.side_;
    limits_ = other.limits_;
    peer_ = std::move(other.peer_);
  }
  return *this;
}

FabricChannel::~FabricChannel() { Leave(); }

void FabricChannel::Leave() {
  if (link_ != nullptr) link_->Leave(side_);
}

absl::Status FabricChannel::SetReceiveDepth(int count) {
  return link_->SetReceiveDepth(side_, count);
}

void FabricChannel::ReturnReceive(uint64_t tag) { link_->ReturnReceive(side_, tag); }

PostStatus FabricChannel::Post(FabricPostKind kind, std::span<const LocalBuffer> local,
                               const RemoteBuffer& remote, uint32_t immediate, uint64_t tag) {
  uint64_t size_bytes = 0;
  for (const LocalBuffer& segment : local) size_bytes += segment.size_bytes;
  FabricPost post;
  post.kind = kind;
  post.tag = tag;
  post.remote = remote;
  post.immediate = immediate;
  post.size_bytes = static_cast<uint32_t>(size_bytes);
  if (kind == FabricPostKind::kSend) {
    post.valid = size_bytes <= limits_.max_message_bytes;
  } else {
    post.valid = size_bytes == remote.size_bytes;
  }
  post.is_inline = kind != FabricPostKind::kFetch && size_bytes <= limits_.inline_bytes;
  if (kind == FabricPostKind::kStoreWithImmediate && !limits_.has_immediate) post.valid = false;
  return link_->Post(side_, post, local);
}

PostStatus FabricChannel::PostSend(std::span<const LocalBuffer> local, uint64_t tag) {
  return Post(FabricPostKind::kSend, local, {}, 0, tag);
}

PostStatus FabricChannel::PostFetch(std::span<const LocalBuffer> local, const RemoteBuffer& remote,
                                    uint64_t tag) {
  return Post(FabricPostKind::kFetch, local, remote, 0, tag);
}

PostStatus FabricChannel::PostStore(std::span<const LocalBuffer> local, const RemoteBuffer& remote,
                                    uint64_t tag) {
  return Post(FabricPostKind::kStore, local, remote, 0, tag);
}

PostStatus FabricChannel::PostStoreWithImmediate(std::span<const LocalBuffer> local,
                                                 const RemoteBuffer& remote, uint32_t immediate,
                                                 uint64_t tag) {
  return Post(FabricPostKind::kStoreWithImmediate, local, remote, immediate, tag);
}

void FabricChannel::Flush() { link_->Flush(side_); }

std::span<ChannelEvent> FabricChannel::Reap(std::span<ChannelEvent> events) {
  return link_->Reap(side_, events);
}

bool FabricChannel::Arm() { return link_->Arm(side_); }
int FabricChannel::wait_fd() const { return link_->wait_fd(side_); }
void FabricChannel::Close() { link_->Close(side_); }
bool FabricChannel::drained() const { return link_->drained(side_); }
FabricError FabricChannel::error() const { return link_->error(); }
FabricStats FabricChannel::stats() const { return link_->stats(side_); }

FabricEndSetup FabricChannel::MakeSetup(FabricDomain* domain, const FabricEndOptions& options) {
  return {options.limits, options.faults, domain->memory_, options.receives};
}

std::pair<FabricChannel, FabricChannel> MakeFabricPair(FabricDomain* domain_a,
                                                       FabricDomain* domain_b,
                                                       const FabricOptions& options) {
  FabricEndSetup a = FabricChannel::MakeSetup(domain_a, options.a);
  FabricEndSetup b = FabricChannel::MakeSetup(domain_b, options.b);
  if (a.receives == nullptr) {
    a.receives = std::make_shared<SharedReceiveQueue>(
        domain_a, ReceiveQueueOptions{.receive_bytes = b.limits.max_message_bytes});
  }
  if (b.receives == nullptr) {
    b.receives = std::make_shared<SharedReceiveQueue>(
        domain_b, ReceiveQueueOptions{.receive_bytes = a.limits.max_message_bytes});
  }
  auto link = std::make_shared<FabricLink>(a, b);
  return {FabricChannel(link, 0, a.limits), FabricChannel(link, 1, b.limits)};
}

}  // namespace vof
