// SPDX-License-Identifier: Apache-2.0
//
// A message channel over an RDMA device: a reliable connected queue pair.
//
//   absl::StatusOr<std::unique_ptr<VerbsChannel>> channel = DialVerbs(uri, setup, deadline);
//   (*channel)->SetReceiveDepth(129);
//   (*channel)->PostSend(message, 1);
//   (*channel)->Flush();                                  // one doorbell
//
// Whatever ends it (a work request that fails, the peer, the device, Close) ends the queue pair
// first and then returns every post, so that no returned buffer is touched any more. wait_fd() is
// readable with completions and with what happens to the connection.
#ifndef VOF_BACKENDS_VERBS_VERBS_CHANNEL_H_
#define VOF_BACKENDS_VERBS_VERBS_CHANNEL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/common/file_descriptor.h"
#include "backends/verbs/verbs_connection.h"
#include "backends/verbs/verbs_domain.h"
#include "backends/verbs/verbs_options.h"
#include "backends/verbs/verbs_queue_pair.h"
#include "backends/verbs/verbs_receives.h"
#include "backends/verbs/verbs_send_queue.h"
#include "core/transport/message_channel.h"

namespace vof {

class VerbsChannel {
 public:
  // What a channel is made of. `shared_receives` may be null: receives of its own.
  struct Setup {
    std::shared_ptr<VerbsDomain> domain;
    std::shared_ptr<VerbsReceives> shared_receives;
    VerbsOptions options;
  };
  // With receives posted, to be connected or accepted then through `id`, which becomes its own.
  static absl::StatusOr<std::unique_ptr<VerbsChannel>> Create(Setup setup, VerbsId id);
  ~VerbsChannel();
  VerbsChannel(const VerbsChannel&) = delete;
  VerbsChannel& operator=(const VerbsChannel&) = delete;

  // --- Until the connection stands: dialler and listener ---
  rdma_cm_id* id() const { return id_.get(); }
  const std::shared_ptr<VerbsDomain>& domain() const { return setup_.domain; }
  // The connection stands, and reports to `events` from now on.
  absl::Status Establish(VerbsEvents events);

  // --- MessageChannel ---
  const ChannelLimits& limits() const { return pair_->limits(); }
  // Receives that are posted, or arrived, or in the hands of the caller.
  absl::Status SetReceiveDepth(int count);
  void ReturnReceive(uint64_t tag);
  // A post beyond limits(), or whose sizes differ, fails through its event and breaks the channel.
  PostStatus PostSend(std::span<const LocalBuffer> local, uint64_t tag);
  PostStatus PostFetch(std::span<const LocalBuffer> local, const RemoteBuffer& remote,
                       uint64_t tag);
  PostStatus PostStore(std::span<const LocalBuffer> local, const RemoteBuffer& remote,
                       uint64_t tag);
  PostStatus PostStoreWithImmediate(std::span<const LocalBuffer> local, const RemoteBuffer& remote,
                                    uint32_t immediate, uint64_t tag);
  void Flush();
  std::span<ChannelEvent> Reap(std::span<ChannelEvent> events);
  bool Arm();
  int wait_fd() const { return wait_fd_.get(); }
  void Close();  // messages not reaped are dropped
  bool drained() const { return closed_ && sends_->empty(); }
  const PeerIdentity& peer() const { return peer_; }

  // Why it broke, in words; for logs and tests. Empty while it works.
  const std::string& error() const { return error_; }

 private:
  // A message that waits for Reap.
  struct Arrived {
    uint32_t index = 0;
    uint32_t size_bytes = 0;
    bool has_immediate = false;
    uint32_t immediate = 0;
  };

  VerbsChannel(Setup setup, VerbsId id);
  absl::Status Open();
  absl::Status Watch(int fd);
  PostStatus Post(const VerbsSendQueue::Post& post, std::span<const LocalBuffer> local);
  void PostReturned();
  size_t Emit(std::span<ChannelEvent> events, size_t count);
  bool has_events() const { return sends_->has_done() || next_arrived_ < arrived_.size(); }
  bool PollQueue();
  bool HandleCompletion(const ibv_wc& completion);
  void CheckConnection();
  void Break(std::string error);
  void DropArrived();

  const Setup setup_;
  // From the first to end to the last: the queue pair belongs to the id, which reports to events_.
  VerbsEvents events_;
  VerbsId id_;
  std::shared_ptr<VerbsReceives> receives_;
  std::unique_ptr<VerbsSendQueue> sends_;
  Region copies_;  // of sends_
  std::unique_ptr<VerbsQueuePair> pair_;
  FileDescriptor wait_fd_;
  PeerIdentity peer_;

  std::vector<uint32_t> returned_;  // receives to be posted again
  std::vector<Arrived> arrived_;
  size_t next_arrived_ = 0;
  int receive_depth_ = 0;
  bool has_invalid_ = false;  // a post that cannot be flushed
  bool broken_ = false;       // there is no queue pair any more
  bool closed_ = false;
  bool owes_disconnect_ = false;
  bool slept_ = false;  // may have been woken by an event of the connection
  uint32_t quiet_reaps_ = 0;
  std::string error_;
};

static_assert(MessageChannel<VerbsChannel>);

}  // namespace vof

#endif  // VOF_BACKENDS_VERBS_VERBS_CHANNEL_H_
