// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/ofi_channel.h"

#include <rdma/fi_errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "backends/ofi/ofi_provider.h"
#include "core/base/limits.h"

namespace vof {
namespace {

constexpr uint32_t kOfiInlineBytes = 128;
// Of turns without completions, so often the connection is looked at: a system call.
constexpr uint32_t kIdleTurnsPerLook = 64;
constexpr uint64_t kFullOrder = FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_WAW | FI_ORDER_RAW;
// Of an arrival that took no receive.
constexpr uint64_t kNoReceive = std::numeric_limits<uint64_t>::max();

ChannelLimits LimitsOf(const fi_info& info) {
  const size_t segments = std::min(
      {info.tx_attr->iov_limit, info.tx_attr->rma_iov_limit, static_cast<size_t>(kMaxOfiSegments)});
  return {.max_message_bytes =
              static_cast<uint32_t>(std::min<size_t>(info.ep_attr->max_msg_size, kMaxMessageBytes)),
          .inline_bytes = kOfiInlineBytes,
          .max_local_segments = static_cast<int>(std::max<size_t>(segments, 1)),
          .send_depth = static_cast<int>(std::min<size_t>(info.tx_attr->size, kOfiSendDepth)),
          .has_immediate = info.domain_attr->cq_data_size >= sizeof(uint32_t)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<OfiChannel>> OfiChannel::Create(OfiEndpoint endpoint,
                                                               const PeerIdentity& peer) {
  std::unique_ptr<OfiChannel> channel(new OfiChannel(std::move(endpoint), peer));
  if (absl::Status s = channel->RegisterInlineMemory(); !s.ok()) return s;
  if (absl::Status s = channel->OpenWaitDescriptor(); !s.ok()) return s;
  return channel;
}

OfiChannel::OfiChannel(OfiEndpoint endpoint, const PeerIdentity& peer)
    : peer_(peer),
      endpoint_(std::move(endpoint)),
      limits_(LimitsOf(*endpoint_.info)),
      keeps_order_((endpoint_.info->tx_attr->msg_order & kFullOrder) == kFullOrder),
      completes_in_order_(endpoint_.completes_in_order()),
      needs_local_keys_((endpoint_.info->domain_attr->mr_mode & FI_MR_LOCAL) != 0),
      clears_fetched_(BelievesShortFetches(endpoint_.info->fabric_attr->prov_name)),
      posts_(limits_.send_depth) {
  if (endpoint_.receives == nullptr) {
    endpoint_.receives = OfiReceives::Own(endpoint_.domain, limits_.max_message_bytes);
  }
}

absl::Status OfiChannel::RegisterInlineMemory() {
  const size_t size = static_cast<size_t>(limits_.send_depth) * limits_.inline_bytes;
  inline_memory_ = std::make_unique<std::byte[]>(size);
  if (!needs_local_keys_) return absl::OkStatus();
  absl::StatusOr<Region> region =
      endpoint_.domain->Register(MutableBuffer(inline_memory_.get(), size), Access::kLocal);
  if (!region.ok()) return region.status();
  inline_region_ = *std::move(region);
  return absl::OkStatus();
}

absl::Status OfiChannel::OpenWaitDescriptor() {
  if (endpoint_.cq_fd < 0) return absl::OkStatus();
  wait_fd_.reset(epoll_create1(EPOLL_CLOEXEC));
  if (!wait_fd_) return absl::ErrnoToStatus(errno, "cannot open an epoll descriptor");
  for (const int fd : {endpoint_.cq_fd, endpoint_.eq_fd, endpoint_.side.get()}) {
    if (fd < 0) continue;
    epoll_event event = {.events = EPOLLIN, .data = {}};
    // A provider may wait for completions and events with one descriptor.
    if (epoll_ctl(wait_fd_.get(), EPOLL_CTL_ADD, fd, &event) != 0 && errno != EEXIST) {
      return absl::ErrnoToStatus(errno, "cannot wait for a completion queue");
    }
  }
  return absl::OkStatus();
}

// --- Posts ---

PostStatus OfiChannel::PostSend(std::span<const LocalBuffer> local, uint64_t tag) {
  return Post(OfiPostKind::kSend, local, {}, 0, tag);
}

PostStatus OfiChannel::Post(OfiPostKind kind, std::span<const LocalBuffer> local,
                            const RemoteBuffer& remote, uint32_t immediate, uint64_t tag) {
  if (closed_ || torn_down_ || ending_) return PostStatus::kClosed;
  OfiPost* const post = posts_.Add();
  if (post == nullptr) return PostStatus::kAgain;
  post->kind = kind;
  post->remote = remote;
  post->immediate = immediate;
  post->tag = tag;
  post->size_bytes = 0;
  for (const LocalBuffer& buffer : local) post->size_bytes += buffer.size_bytes;
  const bool is_send = kind == OfiPostKind::kSend;
  if (is_send ? post->size_bytes > limits_.max_message_bytes
              : post->size_bytes != remote.size_bytes) {
    post->is_valid = false;
  } else if (kind != OfiPostKind::kFetch && post->size_bytes <= limits_.inline_bytes) {
    CopyInline(local, post);
  } else {
    post->is_valid = SetLocal(local, post);
  }
  if (kind == OfiPostKind::kFetch && post->is_valid && clears_fetched_) {
    for (const LocalBuffer& buffer : local) {
      if (buffer.size_bytes > 0) std::memset(buffer.data, 0, buffer.size_bytes);
    }
  }
  return PostStatus::kOk;
}

bool OfiChannel::SetLocal(std::span<const LocalBuffer> local, OfiPost* post) {
  if (local.size() > static_cast<size_t>(limits_.max_local_segments)) return false;
  post->segments = static_cast<int>(local.size());
  for (size_t i = 0; i < local.size(); ++i) {
    const auto* registration = static_cast<const OfiRegistration*>(local[i].local_key);
    if (registration == nullptr || !registration->Covers(local[i].data, local[i].size_bytes)) {
      return false;
    }
    post->local[i] = {local[i].data, local[i].size_bytes};
    post->descriptors[i] = registration->descriptor();
  }
  return true;
}

void OfiChannel::CopyInline(std::span<const LocalBuffer> local, OfiPost* post) {
  std::byte* const memory =
      inline_memory_.get() + size_t{post->context.index} * limits_.inline_bytes;
  std::byte* place = memory;
  for (const LocalBuffer& buffer : local) {
    if (buffer.size_bytes > 0) std::memcpy(place, buffer.data, buffer.size_bytes);
    place += buffer.size_bytes;
  }
  post->is_inline = true;
  post->segments = 1;
  post->local[0] = {memory, post->size_bytes};
  const auto* registration = static_cast<const OfiRegistration*>(inline_region_.local_key());
  post->descriptors[0] = registration == nullptr ? nullptr : registration->descriptor();
}

void OfiChannel::Flush() {
  posts_.Flush();
  Issue();
}

// --- Receives ---

absl::Status OfiChannel::SetReceiveDepth(int count) {
  if (count > receive_depth_) {
    if (absl::Status s = receives().Want(count - receive_depth_); !s.ok()) return s;
    receive_depth_ = count;
  }
  PostReceives();
  return absl::OkStatus();
}

void OfiChannel::PostReceives() {
  if (torn_down_ || ending_ || closed_) return;
  if (!receives().Post(endpoint_.ep.get())) ending_ = true;
}

void OfiChannel::ReturnReceive(uint64_t tag) {
  receives().Return(tag, this);
  PostReceives();
}

// --- Events ---

std::span<ChannelEvent> OfiChannel::Reap(std::span<ChannelEvent> events) {
  if (!torn_down_) Progress();
  size_t count = 0;
  while (count < events.size() && num_arrivals_ > 0) {
    events[count++] = arrivals_[first_arrival_++];
    --num_arrivals_;
  }
  for (OfiPost* post = posts_.Oldest(); post != nullptr && post->is_done && count < events.size();
       post = posts_.Oldest()) {
    failed_ = failed_ || !post->ok;
    const ChannelEventKind kind = post->kind == OfiPostKind::kSend    ? ChannelEventKind::kSent
                                  : post->kind == OfiPostKind::kFetch ? ChannelEventKind::kFetched
                                                                      : ChannelEventKind::kStored;
    events[count] = ChannelEvent();
    events[count].kind = kind;
    events[count].ok = !failed_;
    events[count++].tag = post->tag;
    posts_.RemoveOldest();
  }
  if (count < events.size() && owes_disconnect_ && posts_.empty()) {
    owes_disconnect_ = false;
    events[count++] = ChannelEvent();  // kDisconnected
  }
  return events.first(count);
}

void OfiChannel::Progress() {
  if (linger_until_ != kInfiniteFuture) {
    // The provider is not called any more: the peer relies on that when it closes its endpoint.
    LookAtSide();
    if (peer_gone_ || MonotonicNow() >= linger_until_) TearDown();
    return;
  }
  const bool reads = num_arrivals_ == 0;
  const size_t completions = reads ? ReadCompletions() : 0;
  PostReceives();
  Issue();
  if (!reads || completions > 0) return;
  if (ending_) return End();
  if (look_soon_ || ++idle_turns_ % kIdleTurnsPerLook == 0) LookAtConnection();
}

size_t OfiChannel::ReadCompletions() {
  std::array<fi_cq_data_entry, kCompletionsPerRead> entries;
  first_arrival_ = 0;
  const ssize_t result = fi_cq_read(endpoint_.cq.get(), entries.data(), entries.size());
  if (result == -FI_EAVAIL) {
    OnError();
    return 1;
  }
  if (result == -FI_EAGAIN) return 0;
  if (result < 0) {
    ending_ = true;
    return 0;
  }
  const auto count = static_cast<size_t>(result);
  for (size_t i = 0; i < count; ++i) OnCompletion(entries[i]);
  return count;
}

void OfiChannel::OnCompletion(const fi_cq_data_entry& entry) {
  const auto* context = static_cast<const OfiContext*>(entry.op_context);
  const bool is_immediate = (entry.flags & FI_REMOTE_CQ_DATA) != 0;
  if (context != nullptr && !context->is_receive) {
    return OnReported(posts_.ByIndex(context->index), true);
  }
  if (context == nullptr && !is_immediate) return;
  if (!endpoint_.memory_file.empty()) endpoint_.RemoveName();
  ChannelEvent& arrival = arrivals_[num_arrivals_++];
  arrival = ChannelEvent();
  arrival.kind = ChannelEventKind::kReceived;
  arrival.ok = true;
  arrival.tag = context == nullptr ? kNoReceive : context->index;
  arrival.has_immediate = is_immediate;
  if (is_immediate) {
    arrival.immediate = static_cast<uint32_t>(entry.data);
  } else {
    arrival.message = receives().Arrived(*context, entry.len, this);
  }
}

void OfiChannel::OnError() {
  fi_cq_err_entry error = {};
  if (fi_cq_readerr(endpoint_.cq.get(), &error, 0) < 0) return;
  ending_ = true;
  const auto* context = static_cast<const OfiContext*>(error.op_context);
  if (context == nullptr) return;
  if (context->is_receive) return receives().Dropped(*context);
  OnReported(posts_.ByIndex(context->index), false);
}

void OfiChannel::OnReported(OfiPost& post, bool ok) {
  if (completes_in_order_) {
    while (OfiPost* const before = posts_.TakeUnreported(post)) Finish(*before, true);
  }
  Finish(post, ok);
}

void OfiChannel::Finish(OfiPost& post, bool ok) {
  if (post.kind == OfiPostKind::kStore || post.kind == OfiPostKind::kStoreWithImmediate) {
    if (post.size_bytes > 0 || post.kind == OfiPostKind::kStoreWithImmediate) --stores_in_flight_;
  }
  post.is_done = true;
  post.ok = ok;
}

void OfiChannel::LookAtConnection() {
  look_soon_ = false;
  if (endpoint_.eq == nullptr) return LookAtSide();
  uint32_t event = 0;
  fi_eq_cm_entry entry;
  const ssize_t result = fi_eq_read(endpoint_.eq.get(), &event, &entry, sizeof(entry), 0);
  if (result == -FI_EAGAIN) return;
  ending_ = true;  // FI_SHUTDOWN, or an error
  if (result != -FI_EAVAIL) return;
  fi_eq_err_entry error = {};
  fi_eq_readerr(endpoint_.eq.get(), &error, 0);
}

void OfiChannel::LookAtSide() {
  char unexpected = 0;
  // The peer says nothing more on it: bytes are as bad as the end.
  const ssize_t got = recv(endpoint_.side.get(), &unexpected, 1, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  ending_ = peer_gone_ = true;
}

bool OfiChannel::Arm() {
  if (num_arrivals_ > 0 || owes_disconnect_) return false;
  if (const OfiPost* oldest = posts_.Oldest(); oldest != nullptr && oldest->is_done) return false;
  if (torn_down_) return true;
  // Receives that the provider has no room for follow when one of the others completes.
  if (ending_ || closed_ || posts_.has_unissued()) return false;
  look_soon_ = true;
  if (endpoint_.cq_fd < 0) return true;
  std::array<fid*, 2> waited = {&endpoint_.cq->fid,
                                endpoint_.eq == nullptr ? nullptr : &endpoint_.eq->fid};
  return fi_trywait(endpoint_.domain->fabric(), waited.data(), endpoint_.eq == nullptr ? 1 : 2) !=
         -FI_EAGAIN;
}

// --- The end ---

void OfiChannel::End() {
  if (torn_down_ || linger_until_ != kInfiniteFuture) return;
  if (endpoint_.is_connected_type() || peer_gone_) return TearDown();
  shutdown(endpoint_.side.get(), SHUT_WR);
  linger_until_ = DeadlineAfter(MonotonicNow(), kLingerTimeout);
}

void OfiChannel::TearDown() {
  torn_down_ = true;
  if (endpoint_.is_connected_type()) fi_shutdown(endpoint_.ep.get(), 0);
  // Once it is closed the provider touches no memory any more, and will complete nothing.
  endpoint_.ep.reset();
  TakeBackReceives();
  endpoint_.cq.reset();
  endpoint_.av.reset();
  endpoint_.eq.reset();
  endpoint_.side.reset();
  posts_.FailAll();
  owes_disconnect_ = !closed_;
}

// What the endpoint had taken for messages that nobody will see.
void OfiChannel::TakeBackReceives() {
  if (receives().shared_context() == nullptr) return;
  for (;;) {
    fi_cq_data_entry entry = {};
    fi_cq_err_entry error = {};
    const ssize_t result = fi_cq_read(endpoint_.cq.get(), &entry, 1);
    const bool failed = result == -FI_EAVAIL;
    if (failed ? fi_cq_readerr(endpoint_.cq.get(), &error, 0) < 0 : result != 1) return;
    const auto* context =
        static_cast<const OfiContext*>(failed ? error.op_context : entry.op_context);
    if (context != nullptr && context->is_receive) receives().Dropped(*context);
  }
}

void OfiChannel::Close() {
  if (closed_) return;
  closed_ = true;
  owes_disconnect_ = false;
  num_arrivals_ = 0;
  End();
}

OfiChannel::~OfiChannel() {
  Close();
  receives().Leave(this, receive_depth_);
  if (!torn_down_) BuryEndpoint(std::move(endpoint_), linger_until_);
}

}  // namespace vof
