// SPDX-License-Identifier: Apache-2.0
//
// One end of a connection of the simulated fabric, for a MessageConnection to drive.
//
//   auto channel = std::make_unique<SimChannel>(&context, link, SimWire::kTarget, "192.0.2.1");
//   reactor->Add(std::make_unique<MessageConnection<SimChannel>>(std::move(channel), ...), link,
//   ...);
//
// The target's end has the bugs of the plan (sim_channel_bugs.h). One thread.
#ifndef VOF_TESTING_SIM_SIM_CHANNEL_H_
#define VOF_TESTING_SIM_SIM_CHANNEL_H_

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "core/runtime/message_connection.h"
#include "core/transport/message_channel.h"
#include "testing/sim/sim_channel_bugs.h"
#include "testing/sim/sim_fabric_link.h"

namespace vof {

class SimChannel {
 public:
  SimChannel(SimContext* context, std::shared_ptr<SimFabricLink> link, int side,
             std::string peer_address)
      : link_(std::move(link)),
        side_(side),
        peer_{std::move(peer_address), 0, {}},
        bugs_(context, link_.get(), side) {}
  SimChannel(const SimChannel&) = delete;
  SimChannel& operator=(const SimChannel&) = delete;
  ~SimChannel() { link_->Leave(side_); }

  const ChannelLimits& limits() const { return link_->limits(); }
  absl::Status SetReceiveDepth(int count) {
    link_->SetReceiveDepth(side_, count);
    return absl::OkStatus();
  }
  void ReturnReceive(uint64_t tag) {
    if (!bugs_.DelayReturn(tag)) link_->ReturnReceive(side_, tag);
  }
  PostStatus PostSend(std::span<const LocalBuffer> local, uint64_t tag) {
    return Post({SimPostKind::kSend, local[0], {}, tag});
  }
  PostStatus PostFetch(std::span<const LocalBuffer> local, const RemoteBuffer& remote,
                       uint64_t tag) {
    return Post({SimPostKind::kFetch, local[0], remote, tag});
  }
  PostStatus PostStore(std::span<const LocalBuffer> local, const RemoteBuffer& remote,
                       uint64_t tag) {
    return Post({SimPostKind::kStore, local[0], remote, tag});
  }
  PostStatus PostStoreWithImmediate(std::span<const LocalBuffer> local, const RemoteBuffer& remote,
                                    uint32_t immediate, uint64_t tag) {
    return link_->Post(side_, SimPostKind::kStoreWithImmediate, local, remote, immediate, tag);
  }
  void Flush() { link_->Flush(side_); }
  std::span<ChannelEvent> Reap(std::span<ChannelEvent> events) {
    return bugs_.Hide(link_->Reap(side_, events));
  }
  bool Arm() { return link_->Arm(side_); }
  int wait_fd() const { return kDescriptor; }
  void Close() { link_->Close(side_); }
  bool drained() const { return link_->drained(side_); }
  const PeerIdentity& peer() const { return peer_; }

 private:
  static constexpr int kDescriptor = 1'000'000;  // nobody waits for it: see SimReactor

  PostStatus Post(const SimPost& post) {
    if (bugs_.HoldBack(post)) return PostStatus::kOk;
    const PostStatus status =
        link_->Post(side_, post.kind, {&post.local, 1}, post.remote, 0, post.tag);
    if (status == PostStatus::kOk) bugs_.OnPosted(post);
    return status;
  }

  const std::shared_ptr<SimFabricLink> link_;
  const int side_;
  const PeerIdentity peer_;
  SimChannelBugs bugs_;
};

static_assert(MessageChannel<SimChannel>);

using SimMessageConnection = MessageConnection<SimChannel>;

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_CHANNEL_H_
