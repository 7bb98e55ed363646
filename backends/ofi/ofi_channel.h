// SPDX-License-Identifier: Apache-2.0
//
// A message channel over one endpoint of libfabric, connected (FI_EP_MSG) or not (FI_EP_RDM with a
// side connection).
//
//   auto channel = OfiChannel::Create(*std::move(endpoint), peer);
//   (*channel)->SetReceiveDepth(8);
//   (*channel)->PostSend(message, tag);
//   (*channel)->Flush();
//   for (const ChannelEvent& event : (*channel)->Reap(events)) ...
//
// Posts reach the provider with Flush; where completions come in their order it is asked for the
// last one of each flush and for fetches only. They are reported in order of posting, whatever the
// order in which the provider completes them. Local keys are checked here: providers do not all
// look. Without a connection of the provider, the end is agreed over the side connection: who ends
// first says so, calls the provider no more, and keeps its endpoint (and what was posted) until the
// peer has ended as well, for kLingerTimeout at most, because that one may be moving bytes. A
// provider that does not keep a send behind the stores before it is given the send only when these
// are complete at the peer. What each provider does otherwise is in docs/fabrics.md.
#ifndef VOF_BACKENDS_OFI_OFI_CHANNEL_H_
#define VOF_BACKENDS_OFI_OFI_CHANNEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/common/file_descriptor.h"
#include "backends/ofi/ofi_endpoint.h"
#include "backends/ofi/ofi_post.h"
#include "backends/ofi/ofi_receives.h"
#include "core/base/time.h"
#include "core/transport/message_channel.h"

namespace vof {

class OfiChannel {
 public:
  // `endpoint` is connected, or knows its peer and has the side connection.
  static absl::StatusOr<std::unique_ptr<OfiChannel>> Create(OfiEndpoint endpoint,
                                                            const PeerIdentity& peer);
  // As Close(); without a connection, an endpoint that the peer may still use is left to the
  // domain.
  ~OfiChannel();
  OfiChannel(const OfiChannel&) = delete;
  OfiChannel& operator=(const OfiChannel&) = delete;

  const ChannelLimits& limits() const { return limits_; }
  // kResourceExhausted when the memory cannot be registered.
  absl::Status SetReceiveDepth(int count);
  void ReturnReceive(uint64_t tag);

  // A post beyond limits(), or whose local keys do not cover it, fails through its event and breaks
  // the channel.
  PostStatus PostSend(std::span<const LocalBuffer> local, uint64_t tag);
  PostStatus PostFetch(std::span<const LocalBuffer> local, const RemoteBuffer& remote,
                       uint64_t tag) {
    return Post(OfiPostKind::kFetch, local, remote, 0, tag);
  }
  PostStatus PostStore(std::span<const LocalBuffer> local, const RemoteBuffer& remote,
                       uint64_t tag) {
    return Post(OfiPostKind::kStore, local, remote, 0, tag);
  }
  PostStatus PostStoreWithImmediate(std::span<const LocalBuffer> local, const RemoteBuffer& remote,
                                    uint32_t immediate, uint64_t tag) {
    return Post(OfiPostKind::kStoreWithImmediate, local, remote, immediate, tag);
  }
  void Flush();
  std::span<ChannelEvent> Reap(std::span<ChannelEvent> events);
  bool Arm();
  int wait_fd() const { return wait_fd_ ? wait_fd_.get() : -1; }
  void Close();  // messages not reaped are dropped
  bool drained() const { return closed_ && torn_down_ && posts_.empty(); }
  const PeerIdentity& peer() const { return peer_; }

 private:
  static constexpr size_t kCompletionsPerRead = 64;
  // So often at least the provider is asked for a completion.
  static constexpr int kReportEvery = 32;

  OfiChannel(OfiEndpoint endpoint, const PeerIdentity& peer);
  OfiReceives& receives() { return *endpoint_.receives; }
  absl::Status OpenWaitDescriptor();
  absl::Status RegisterInlineMemory();

  PostStatus Post(OfiPostKind kind, std::span<const LocalBuffer> local, const RemoteBuffer& remote,
                  uint32_t immediate, uint64_t tag);
  bool SetLocal(std::span<const LocalBuffer> local, OfiPost* post);
  void CopyInline(std::span<const LocalBuffer> local, OfiPost* post);

  // What the provider is told (ofi_submit.cc).
  void Issue();
  bool MustWait(const OfiPost& post) const;
  uint64_t ReportFlags(OfiPost& post, const OfiPost* following) const;
  bool MayInject(const OfiPost& post) const;
  ssize_t Submit(OfiPost& post, uint64_t flags);
  ssize_t SubmitSend(OfiPost& post, uint64_t flags);
  ssize_t SubmitAccess(OfiPost& post, uint64_t flags);

  // What the provider tells.
  void PostReceives();
  void TakeBackReceives();
  void Progress();
  size_t ReadCompletions();
  void OnCompletion(const fi_cq_data_entry& entry);
  void OnError();
  void OnReported(OfiPost& post, bool ok);
  void Finish(OfiPost& post, bool ok);
  void LookAtConnection();
  void LookAtSide();
  void End();
  void TearDown();

  const PeerIdentity peer_;
  OfiEndpoint endpoint_;
  ChannelLimits limits_;
  const bool keeps_order_;         // of sends, stores and fetches, by the provider
  const bool completes_in_order_;  // so that one completion speaks for those before it
  const bool needs_local_keys_;    // FI_MR_LOCAL
  const bool clears_fetched_;      // BelievesShortFetches
  OfiPosts posts_;
  std::unique_ptr<std::byte[]> inline_memory_;  // of each post
  Region inline_region_;                        // ends before its memory
  int receive_depth_ = 0;
  // Epoll over completions, events and side connection. Stays open for whoever watches it.
  FileDescriptor wait_fd_;

  std::array<ChannelEvent, kCompletionsPerRead> arrivals_;  // of one read of completions
  size_t first_arrival_ = 0;
  size_t num_arrivals_ = 0;
  int stores_in_flight_ = 0;
  int unreported_ = 0;  // posts issued since the provider was asked for a completion
  uint32_t idle_turns_ = 0;
  bool look_soon_ = true;   // at the connection: it may have woken us
  bool failed_ = false;     // reported a failure: what comes behind it has failed as well
  bool ending_ = false;     // no more posts; what has arrived is read before the end
  bool peer_gone_ = false;  // FI_EP_RDM: it moves nothing any more
  bool torn_down_ = false;  // nothing is with the provider any more
  // FI_EP_RDM: we said the end, and the peer has until then to close its endpoint.
  MonotonicTime linger_until_ = kInfiniteFuture;
  bool owes_disconnect_ = false;  // the event kDisconnected, after all others
  bool closed_ = false;
};

static_assert(MessageChannel<OfiChannel>);

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_OFI_CHANNEL_H_
