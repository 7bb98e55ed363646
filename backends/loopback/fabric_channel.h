// SPDX-License-Identifier: Apache-2.0
//
// A message channel inside the process, with remote memory access and the behaviour of a reliable
// connected queue pair.
//
//   FabricDomain domain;
//   auto [client, server] = MakeFabricPair(&domain, &domain);
//   server.SetReceiveDepth(8);
//   client.PostStore(local, remote, 1);
//   client.PostSend(message, 2);
//   client.Flush();
//   for (const ChannelEvent& event : server.Reap(events)) ...   // the message, behind the store
//
// Posts take effect in order, from Flush on. A message that finds no receive waits and holds what
// is behind it. Local and remote keys are checked as an adapter does: what they do not allow fails
// at the side that posted, and breaks the channel for both. Each end belongs to one thread, the two
// may differ; bytes are copied by whoever calls, so one thread alone is deterministic. Tests delay
// and break it with fabric_faults.h.
#ifndef VOF_BACKENDS_LOOPBACK_FABRIC_CHANNEL_H_
#define VOF_BACKENDS_LOOPBACK_FABRIC_CHANNEL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "backends/loopback/fabric_domain.h"
#include "backends/loopback/fabric_error.h"
#include "backends/loopback/fabric_faults.h"
#include "backends/loopback/fabric_receives.h"
#include "backends/loopback/fabric_stats.h"
#include "core/transport/message_channel.h"

namespace vof {

class FabricLink;
struct FabricEndSetup;
enum class FabricPostKind : uint8_t;

struct FabricEndOptions {
  ChannelLimits limits = {.max_message_bytes = 16u << 10,
                          .inline_bytes = 128,
                          .max_local_segments = 16,
                          .send_depth = 256,
                          .has_immediate = true};
  FabricFaults faults = {};
  // Shared with other channels of the same domain; null: receives of its own. The longest message
  // that arrives is that of the queue.
  std::shared_ptr<SharedReceiveQueue> receives = nullptr;
};

struct FabricOptions {
  FabricEndOptions a = {};
  FabricEndOptions b = {};
};

class FabricChannel {
 public:
  FabricChannel(FabricChannel&& other) noexcept = default;
  FabricChannel& operator=(FabricChannel&& other) noexcept;
  ~FabricChannel();  // as Close(); receives that the caller held end, too

  const ChannelLimits& limits() const { return limits_; }
  // Receives that are posted, or arrived, or in the hands of the caller. kResourceExhausted when
  // the domain or the shared queue has no room for them.
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
  // Messages that arrived, then posts flushed when the channel broke, then kDisconnected.
  std::span<ChannelEvent> Reap(std::span<ChannelEvent> events);
  bool Arm();
  int wait_fd() const;  // -1 before the first Arm
  void Close();         // messages not reaped are dropped
  bool drained() const;
  const PeerIdentity& peer() const { return peer_; }

  // Why it broke; for logs and tests. kNone while it works.
  FabricError error() const;
  FabricStats stats() const;

 private:
  friend std::pair<FabricChannel, FabricChannel> MakeFabricPair(FabricDomain*, FabricDomain*,
                                                                const FabricOptions&);
  FabricChannel(std::shared_ptr<FabricLink> link, int side, const ChannelLimits& limits);
  static FabricEndSetup MakeSetup(FabricDomain* domain, const FabricEndOptions& options);
  PostStatus Post(FabricPostKind kind, std::span<const LocalBuffer> local,
                  const RemoteBuffer& remote, uint32_t immediate, uint64_t tag);
  void Leave();

  std::shared_ptr<FabricLink> link_;
  int side_ = 0;
  ChannelLimits limits_;
  PeerIdentity peer_;
};

static_assert(MessageChannel<FabricChannel>);

// Two connected ends, of one domain or of two. Without a shared queue the receives of an end are as
// long as the longest message of its peer.
std::pair<FabricChannel, FabricChannel> MakeFabricPair(FabricDomain* domain_a,
                                                       FabricDomain* domain_b,
                                                       const FabricOptions& options = {});

}  // namespace vof

#endif  // VOF_BACKENDS_LOOPBACK_FABRIC_CHANNEL_H_
