// SPDX-License-Identifier: Apache-2.0
#include "backends/verbs/verbs_channel.h"

#include <arpa/inet.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/common/socket_address.h"
#include "backends/verbs/verbs_error.h"

namespace vof {
namespace {

constexpr size_t kPollBatch = 16;
// Receives that may wait to be posted again, for one doorbell.
constexpr size_t kReturnBatch = 16;
// Without sleeping in between, the connection is looked at once in so many turns without events:
// that costs a system call.
constexpr uint32_t kQuietReapsPerCheck = 64;
// How long the peer waits before it sends again what found no receive: 0.64 ms, in the code of the
// InfiniBand specification (9.7.5.2.8). librdmacm leaves it at 655 ms.
constexpr uint8_t kReceiverNotReadyTimer = 12;

}  // namespace

VerbsChannel::VerbsChannel(Setup setup, VerbsId id) : setup_(std::move(setup)), id_(std::move(id)) {
  returned_.reserve(kReturnBatch);
  arrived_.reserve(kPollBatch);
}

VerbsChannel::~VerbsChannel() {
  if (pair_ == nullptr) return;
  Close();
  receives_->Leave(this, receive_depth_);
}

absl::StatusOr<std::unique_ptr<VerbsChannel>> VerbsChannel::Create(Setup setup, VerbsId id) {
  std::unique_ptr<VerbsChannel> channel(new VerbsChannel(std::move(setup), std::move(id)));
  if (absl::Status s = channel->Open(); !s.ok()) return s;
  return channel;
}

absl::Status VerbsChannel::Open() {
  const VerbsOptions& options = setup_.options;
  receives_ = setup_.shared_receives;
  if (receives_ == nullptr) {
    receives_ = VerbsReceives::Own(
        setup_.domain, std::min(options.max_receives, setup_.domain->attributes().max_qp_wr));
  }
  absl::StatusOr<std::unique_ptr<VerbsQueuePair>> pair = VerbsQueuePair::Create(
      setup_.domain, id_.get(), options, receives_->shared_queue(), receives_->max_receives());
  if (!pair.ok()) return pair.status();
  sends_ = std::make_unique<VerbsSendQueue>(
      (*pair)->limits(),
      VerbsSendOptions{.signal_every = std::clamp(options.signal_every, 1,
                                                  std::max(1, (*pair)->limits().send_depth / 4)),
                       .device_inline_bytes = (*pair)->device_inline_bytes()});
  if ((*pair)->device_inline_bytes() < (*pair)->limits().inline_bytes) {
    absl::StatusOr<Region> copies = setup_.domain->Register(sends_->copies(), Access::kLocal);
    if (!copies.ok()) return copies.status();
    copies_ = *std::move(copies);
    sends_->set_copies_key(LocalKeyOf(copies_.local_key()));
  }
  pair_ = *std::move(pair);
  wait_fd_ = FileDescriptor(epoll_create1(EPOLL_CLOEXEC));
  if (!wait_fd_) return VerbsError("cannot make a descriptor for RDMA events", errno);
  if (absl::Status s = Watch(pair_->fd()); !s.ok()) return s;
  return SetReceiveDepth(options.initial_receives);
}

absl::Status VerbsChannel::Watch(int fd) {
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (epoll_ctl(wait_fd_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return absl::OkStatus();
  return VerbsError("cannot watch RDMA events", errno);
}

absl::Status VerbsChannel::Establish(VerbsEvents events) {
  events_ = std::move(events);
  if (absl::Status s = Watch(events_.fd()); !s.ok()) return s;
  ibv_qp_attr attributes = {};
  attributes.min_rnr_timer = kReceiverNotReadyTimer;
  // A device that cannot do this is slower where receives are short, no more.
  setup_.domain->calls().ModifyQueuePair(pair_->get(), &attributes, IBV_QP_MIN_RNR_TIMER);
  const SocketAddress peer(rdma_get_peer_addr(id_.get()), sizeof(sockaddr_storage));
  peer_.address = peer.HostText();
  peer_.port = peer.port();
  return absl::OkStatus();
}

absl::Status VerbsChannel::SetReceiveDepth(int count) {
  if (count <= receive_depth_ || broken_) return absl::OkStatus();
  if (absl::Status s = receives_->Want(count - receive_depth_, pair_->get()); !s.ok()) return s;
  receive_depth_ = count;
  return absl::OkStatus();
}

void VerbsChannel::ReturnReceive(uint64_t tag) {
  const auto index = static_cast<uint32_t>(tag);
  if (!receives_->Release(index, this)) return;
  returned_.push_back(index);
  if (broken_ || returned_.size() >= kReturnBatch) PostReturned();
}

void VerbsChannel::PostReturned() {
  if (returned_.empty()) return;
  // Receives of its own end with the queue pair; shared ones are for others to use.
  const bool usable = !broken_ || receives_->shared_queue() != nullptr;
  const int error = usable ? receives_->Post(returned_, pair_->get()) : 0;
  returned_.clear();
  if (error != 0) Break(absl::StrCat("cannot post a receive: ", DescribeVerbsError(error)));
}

PostStatus VerbsChannel::PostSend(std::span<const LocalBuffer> local, uint64_t tag) {
  return Post({.opcode = IBV_WR_SEND, .remote = {}, .immediate = 0, .tag = tag}, local);
}
PostStatus VerbsChannel::PostFetch(std::span<const LocalBuffer> local, const RemoteBuffer& remote,
                                   uint64_t tag) {
  return Post({.opcode = IBV_WR_RDMA_READ, .remote = remote, .immediate = 0, .tag = tag}, local);
}
PostStatus VerbsChannel::PostStore(std::span<const LocalBuffer> local, const RemoteBuffer& remote,
                                   uint64_t tag) {
  return Post({.opcode = IBV_WR_RDMA_WRITE, .remote = remote, .immediate = 0, .tag = tag}, local);
}
PostStatus VerbsChannel::PostStoreWithImmediate(std::span<const LocalBuffer> local,
                                                const RemoteBuffer& remote, uint32_t immediate,
                                                uint64_t tag) {
  return Post(
      {.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .remote = remote, .immediate = immediate, .tag = tag},
      local);
}

PostStatus VerbsChannel::Post(const VerbsSendQueue::Post& post,
                              std::span<const LocalBuffer> local) {
  if (broken_ || closed_) return PostStatus::kClosed;
  if (sends_->full()) return PostStatus::kAgain;
  if (!sends_->Add(post, local)) has_invalid_ = true;
  return PostStatus::kOk;
}

void VerbsChannel::Flush() {
  if (broken_) return;
  // Before what makes the peer send to them.
  PostReturned();
  if (broken_) return;
  if (has_invalid_) return Break("a post exceeds the channel's limits, or its sizes differ");
  ibv_send_wr* const chain = sends_->TakeChain();
  if (chain == nullptr) return;
  ibv_send_wr* failed = nullptr;
  const int error = setup_.domain->calls().PostSend(pair_->get(), chain, &failed);
  if (error != 0) Break(absl::StrCat("cannot post: ", DescribeVerbsError(error)));
}

std::span<ChannelEvent> VerbsChannel::Reap(std::span<ChannelEvent> events) {
  if (!broken_) PostReturned();
  size_t count = Emit(events, 0);
  while (count < events.size() && PollQueue()) count = Emit(events, count);
  count = Emit(events, count);  // what broke it may have ended the loop
  if (count > 0) {
    slept_ = false;
  } else if (slept_ || ++quiet_reaps_ % kQuietReapsPerCheck == 0) {
    slept_ = false;
    CheckConnection();
    count = Emit(events, count);
  }
  if (owes_disconnect_ && !has_events() && count < events.size()) {
    owes_disconnect_ = false;
    events[count++] = ChannelEvent{};  // kDisconnected
  }
  return events.first(count);
}

size_t VerbsChannel::Emit(std::span<ChannelEvent> events, size_t count) {
  while (count < events.size() && next_arrived_ < arrived_.size()) {
    const Arrived& arrived = arrived_[next_arrived_++];
    receives_->Hold(arrived.index, this);
    events[count++] = ChannelEvent{.kind = ChannelEventKind::kReceived,
                                   .ok = true,
                                   .tag = arrived.index,
                                   .message = {receives_->data(arrived.index), arrived.size_bytes},
                                   .has_immediate = arrived.has_immediate,
                                   .immediate = arrived.immediate};
  }
  if (next_arrived_ == arrived_.size()) {
    arrived_.clear();
    next_arrived_ = 0;
  }
  while (count < events.size() && sends_->NextEvent(&events[count])) ++count;
  return count;
}

bool VerbsChannel::PollQueue() {
  if (pair_->get() == nullptr) return false;
  std::array<ibv_wc, kPollBatch> completions;
  const int polled = pair_->Poll(completions);
  if (polled < 0) {
    Break("the completion queue is broken");
    return false;
  }
  const ibv_wc* failed = nullptr;
  for (const ibv_wc& completion : std::span(completions).first(static_cast<size_t>(polled))) {
    if (!HandleCompletion(completion) && failed == nullptr) failed = &completion;
  }
  if (failed != nullptr) {
    Break(absl::StrCat("a work request failed: ", ibv_wc_status_str(failed->status)));
  }
  return polled > 0;
}

bool VerbsChannel::HandleCompletion(const ibv_wc& completion) {
  const bool ok = completion.status == IBV_WC_SUCCESS;
  if ((completion.wr_id & kSendWorkRequest) != 0) {
    sends_->Complete(completion.wr_id, ok);
    return ok;
  }
  if (!receives_->Has(completion.wr_id)) return ok;
  const auto index = static_cast<uint32_t>(completion.wr_id);
  if (!ok) {
    returned_.push_back(index);
    return false;
  }
  const bool has_immediate = completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM;
  arrived_.push_back({.index = index,
                      .size_bytes = has_immediate ? 0 : completion.byte_len,
                      .has_immediate = has_immediate,
                      .immediate = has_immediate ? ntohl(completion.imm_data) : 0});
  return true;
}

void VerbsChannel::CheckConnection() {
  VerbsEvent event;
  while (events_.Next(&event)) {
    switch (event.type) {
      case RDMA_CM_EVENT_DISCONNECTED:
        Break("the peer closed the connection");
        break;
      case RDMA_CM_EVENT_DEVICE_REMOVAL:
        Break(absl::StrCat("the device ", setup_.domain->device_name(), " was removed"));
        break;
      case RDMA_CM_EVENT_CONNECT_ERROR:
      case RDMA_CM_EVENT_UNREACHABLE:
      case RDMA_CM_EVENT_REJECTED:
        Break("the connection failed");
        break;
      default:
        break;
    }
  }
}

bool VerbsChannel::Arm() {
  if (!broken_) PostReturned();
  const int error = pair_->Arm();
  if (error != 0) Break(absl::StrCat("cannot wait for completions: ", DescribeVerbsError(error)));
  // What completed before the notification was asked for does not cause one.
  if (PollQueue() || has_events() || owes_disconnect_) return false;
  slept_ = true;
  return true;
}

void VerbsChannel::Break(std::string error) {
  if (std::exchange(broken_, true)) return;
  error_ = std::move(error);
  owes_disconnect_ = true;
  setup_.domain->calls().Disconnect(id_.get());  // fails when the peer was first
  while (PollQueue()) {
  }
  pair_->End();
  sends_->FailRest();
  PostReturned();
}

void VerbsChannel::Close() {
  if (std::exchange(closed_, true)) return;
  Break("it was closed");
  owes_disconnect_ = false;
  for (; next_arrived_ < arrived_.size(); ++next_arrived_) {
    returned_.push_back(arrived_[next_arrived_].index);
  }
  PostReturned();
  arrived_.clear();
  next_arrived_ = 0;
}

}  // namespace vof
