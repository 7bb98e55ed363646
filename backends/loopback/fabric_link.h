// SPDX-License-Identifier: Apache-2.0
//
// What the two ends of a channel of the in-process fabric share: the wire between them, executed by
// whoever calls. Inside this folder only; FabricChannel is the handle of one end.
//
//   link->Post(side, FabricPostKind::kSend, local, {}, 0, tag);
//   link->Flush(side);          // moves what may move
//   link->Reap(side, events);
//
// Any thread: one mutex for the pair. Bytes are copied under it, so whoever reaped an event sees
// all that happened before.
#ifndef VOF_BACKENDS_LOOPBACK_FABRIC_LINK_H_
#define VOF_BACKENDS_LOOPBACK_FABRIC_LINK_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "absl/status/status.h"
#include "backends/loopback/fabric_error.h"
#include "backends/loopback/fabric_faults.h"
#include "backends/loopback/fabric_memory.h"
#include "backends/loopback/fabric_receives.h"
#include "backends/loopback/fabric_send_queue.h"
#include "backends/loopback/fabric_stats.h"
#include "backends/loopback/faults.h"
#include "core/transport/message_channel.h"

namespace vof {

struct FabricEndSetup {
  ChannelLimits limits;
  FabricFaults faults;
  std::shared_ptr<FabricMemory> memory;
  std::shared_ptr<SharedReceiveQueue> receives;
};

class FabricLink : public std::enable_shared_from_this<FabricLink> {
 public:
  FabricLink(const FabricEndSetup& a, const FabricEndSetup& b);
  ~FabricLink();
  FabricLink(const FabricLink&) = delete;
  FabricLink& operator=(const FabricLink&) = delete;

  PostStatus Post(int side, const FabricPost& post, std::span<const LocalBuffer> local);
  void Flush(int side);
  std::span<ChannelEvent> Reap(int side, std::span<ChannelEvent> events);
  bool Arm(int side);
  int wait_fd(int side) const;
  absl::Status SetReceiveDepth(int side, int count);
  void ReturnReceive(int side, uint64_t tag);
  void Close(int side);
  // The handle of the end is gone: nobody will return what it holds.
  void Leave(int side);
  void OnReceivePosted(int side);  // for a send of `side` that waited

  bool drained(int side) const;
  FabricError error() const;
  FabricStats stats(int side) const;

 private:
  using Receive = SharedReceiveQueue::Receive;

  struct End {
    explicit End(const FabricEndSetup& setup);

    const ChannelLimits limits;
    const FabricFaults faults;
    const std::shared_ptr<FabricMemory> memory;
    const std::shared_ptr<SharedReceiveQueue> receives;
    FaultRandom random;
    FabricSendQueue sends;
    Receive* first_arrived = nullptr;
    Receive* last_arrived = nullptr;
    int receive_depth = 0;
    bool waits_for_receive = false;  // its oldest post, at the peer
    bool closed = false;
    bool owes_disconnect = false;  // the event kDisconnected, after all others
    uint64_t turn = 0;
    uint64_t next_sequence = 0;  // completions of posts and of receives are one queue
    uint64_t post_calls = 0;
    uint64_t posts_done = 0;
    FabricStats stats;

    // Nothing can happen at this end before somebody clears it: it may be asked without the lock.
    std::atomic<bool> quiet = false;

    int event_fd = -1;
    bool armed = false;      // sleeps: the next event writes event_fd
    bool signalled = false;  // event_fd is readable
  };

  // All with the mutex held.
  void Progress(int side);
  bool Execute(int side);  // the oldest flushed post; false: it cannot go on now
  FabricError MoveMessage(int side, const FabricPost& post, Receive* receive);
  FabricError MoveRemote(int side, const FabricPost& post, Receive* receive);
  void Arrive(End& end, Receive* receive);
  void Finish(End& end, bool ok);
  void Break(FabricError error);
  void Notify(End& end);
  bool NextEvent(End& end, ChannelEvent* event);
  static bool SendReady(const End& end);
  static bool ReceiveReady(const End& end);
  static bool DisconnectReady(const End& end);

  mutable std::mutex mutex_;
  FabricError error_ = FabricError::kNone;  // broken unless kNone
  std::array<End, 2> ends_;
};

}  // namespace vof

#endif  // VOF_BACKENDS_LOOPBACK_FABRIC_LINK_H_
