// SPDX-License-Identifier: Apache-2.0
//
// A connection over the in-process fabric between an engine and a peer that does what a fuzzer
// says: any message, reads and writes of any memory, receives that it keeps.
//
//   FuzzMessageLane lane(std::make_unique<...>(...), &peer_memory, &engine_domain, faults);
//   lane.Send(bytes);
//   lane.Turn(now);                      // some of what can move
//   for (auto& message : lane.TakeMessages()) ...
//   lane.End(now);                       // closes, and lets the engine finish
#ifndef VOF_TESTING_FUZZ_ENGINE_MESSAGE_LANE_H_
#define VOF_TESTING_FUZZ_ENGINE_MESSAGE_LANE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backends/loopback/fabric_channel.h"
#include "backends/loopback/fabric_domain.h"
#include "core/base/check.h"
#include "core/base/limits.h"
#include "core/engine/message_engine.h"
#include "core/runtime/message_connection.h"

namespace vof {

// Keys and addresses are the same in every run.
inline FabricDomainOptions FuzzDomainOptions(uint64_t key_seed) {
  return {.addressing = FabricAddressing::kZeroBased, .key_seed = key_seed};
}

// What the peer shows to the engine: 16 KiB from address 0. A fuzzer cannot know its key, so it
// writes kKeyMark for it.
class FuzzPeerMemory {
 public:
  static constexpr uint32_t kKeyMark = 0x4b4b4b4b;

  FuzzPeerMemory() : shown_(16u << 10), sent_(64u << 10) {
    RegisterAgain();
    sent_region_ = *domain_.Register({sent_.data(), sent_.size()}, Access::kLocal);
  }

  FabricDomain& domain() { return domain_; }
  std::span<std::byte> shown() { return shown_; }
  // The key that was ends, and there is another one.
  void RegisterAgain() {
    region_ = Region();
    region_ = *domain_.Register({shown_.data(), shown_.size()}, Access::kRemoteReadWrite);
  }
  // Puts the key where `message` has the mark.
  void PutKey(std::span<std::byte> message) const {
    const uint32_t key = region_.remote_key();
    for (size_t at = 0; at + sizeof(key) <= message.size(); ++at) {
      uint32_t mark = 0;
      std::memcpy(&mark, message.data() + at, sizeof(mark));
      if (mark == kKeyMark) std::memcpy(message.data() + at, &key, sizeof(key));
    }
  }
  // A place to send `bytes` from, for a while.
  LocalBuffer Place(std::span<const std::byte> bytes) {
    const auto size = static_cast<uint32_t>(std::min<size_t>(bytes.size(), kMaxMessageBytes));
    if (at_ + size > sent_.size()) at_ = 0;
    std::copy_n(bytes.begin(), size, sent_.begin() + static_cast<ptrdiff_t>(at_));
    LocalBuffer place{sent_.data() + at_, size, sent_region_.local_key()};
    at_ += size;
    return place;
  }

 private:
  FabricDomain domain_{FuzzDomainOptions(1)};
  std::vector<std::byte> shown_, sent_;
  Region region_, sent_region_;
  size_t at_ = 0;
};

class FuzzMessageLane {
 public:
  using Messages = std::vector<std::vector<std::byte>>;

  FuzzMessageLane(std::unique_ptr<MessageEngine> engine, FuzzPeerMemory* memory,
                  FabricDomain* engine_domain, const FabricFaults& faults)
      : memory_(memory) {
    FabricOptions options;
    // Connections come and go: small ones, with a send queue that is soon full.
    options.a.limits = options.b.limits = {.max_message_bytes = kMaxMessageBytes,
                                           .inline_bytes = kMinInlineBytes,
                                           .max_local_segments = 1,
                                           .send_depth = 16,
                                           .has_immediate = true};
    options.b.faults = faults;
    auto [peer, own] = MakeFabricPair(&memory->domain(), engine_domain, options);
    peer_ = std::make_unique<FabricChannel>(std::move(peer));
    connection_ = std::make_unique<MessageConnection<FabricChannel>>(
        std::make_unique<FabricChannel>(std::move(own)), std::move(engine));
    (void)peer_->SetReceiveDepth(kPeerReceives);
  }

  MessageEngine& engine() { return connection_->engine(); }
  bool finished() const { return connection_->finished(); }
  // Receives stay with the peer until it is false.
  void set_keeps_receives(bool keeps) {
    keeps_receives_ = keeps;
    if (!keeps) ReturnReceives();
  }
  Messages TakeMessages() { return std::exchange(messages_, {}); }

  void Send(std::span<const std::byte> bytes) {
    const LocalBuffer local = memory_->Place(bytes);
    memory_->PutKey({local.data, local.size_bytes});
    (void)peer_->PostSend({&local, 1}, 0);
    peer_->Flush();
  }
  void SendImmediate(uint32_t immediate) {
    const LocalBuffer nothing;
    (void)peer_->PostStoreWithImmediate({&nothing, 1}, {}, immediate, 0);
    peer_->Flush();
  }
  // Reads or writes the memory of the engine's side.
  void Reach(const RemoteBuffer& remote, bool writes) {
    const std::vector<std::byte> bytes(std::min<uint32_t>(remote.size_bytes, 4096),
                                       std::byte{0x5a});
    const LocalBuffer local = memory_->Place(bytes);
    RemoteBuffer clipped = remote;
    clipped.size_bytes = local.size_bytes;
    (void)(writes ? peer_->PostStore({&local, 1}, clipped, 0)
                  : peer_->PostFetch({&local, 1}, clipped, 0));
    peer_->Flush();
  }

  bool Turn(MonotonicTime now) {
    if (connection_->finished()) return false;
    if (now >= connection_->NextDeadline()) connection_->OnTimer(now);
    bool moved = connection_->Poll(now, {}) != PollResult::kIdle;
    std::array<ChannelEvent, 16> events;
    for (const ChannelEvent& event : peer_->Reap(events)) {
      moved = true;
      if (event.kind == ChannelEventKind::kDisconnected) peer_->Close();
      if (event.kind != ChannelEventKind::kReceived) continue;
      messages_.emplace_back(event.message.begin(), event.message.end());
      held_.push_back(event.tag);
    }
    if (!keeps_receives_) ReturnReceives();
    return moved;
  }
  // The peer goes.
  void Close() { peer_->Close(); }
  void Run(MonotonicTime now) {
    for (int idle = 0; idle <= kLongestDelayTurns;) idle = Turn(now) ? 0 : idle + 1;
  }
  void End(MonotonicTime now) {
    connection_->Close(CloseReason::kLocal, now);
    Run(now);
    Check(connection_->finished(), "an engine finishes after its connection is closed");
  }

  // What happens late happens after so many turns at most.
  static constexpr int kLongestDelayTurns = 6;

 private:
  static constexpr int kPeerReceives = 4;

  void ReturnReceives() {
    for (const uint64_t tag : std::exchange(held_, {})) peer_->ReturnReceive(tag);
  }

  FuzzPeerMemory* const memory_;
  std::unique_ptr<FabricChannel> peer_;
  std::unique_ptr<MessageConnection<FabricChannel>> connection_;
  Messages messages_;
  std::vector<uint64_t> held_;
  bool keeps_receives_ = false;
};

}  // namespace vof

#endif  // VOF_TESTING_FUZZ_ENGINE_MESSAGE_LANE_H_
