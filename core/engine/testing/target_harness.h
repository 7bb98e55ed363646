// SPDX-License-Identifier: Apache-2.0
//
// For tests of the target's engines: a directory with one fake device, and peers that speak raw
// bytes to it.
//
//   TargetHarness target;
//   auto control = target.NewPeer();
//   control->Send(ConnectBytes<V5>({.kind = CommandKind::kConnect, .instance_id = 0xffff},
//   Body())); EXPECT_EQ(Hex(control->TakeReceived()), "0000...");
//
// A peer keeps what the engine does not want to read yet, as a transport would. `chunk_bytes` cuts
// everything that is sent into pieces, `scratch_bytes` bounds the receive buffer. Single-threaded;
// time is `now`.
#ifndef VOF_CORE_ENGINE_TESTING_TARGET_HARNESS_H_
#define VOF_CORE_ENGINE_TESTING_TARGET_HARNESS_H_

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/engine/target_connection.h"
#include "core/engine/testing/fake_device.h"
#include "core/wire/codec.h"
#include "core/wire/connect_body.h"
#include "core/wire/ref.h"
#include "core/wire/v5.h"

namespace vof {

class ManualExecutor final : public Executor {
 public:
  void Post(std::function<void()> work) override {
    std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
  }
  // Runs what is posted, and what that posts. Returns whether there was any.
  bool RunAll() {
    bool any = false;
    for (std::function<void()> work; Take(&work); any = true) work();
    return any;
  }

 private:
  bool Take(std::function<void()>* work) {
    std::lock_guard lock(mutex_);
    if (work_.empty()) return false;
    *work = std::move(work_.front());
    work_.pop_front();
    return true;
  }
  std::mutex mutex_;
  std::deque<std::function<void()>> work_;
};

// One connection, seen from its other end.
class RawPeer {
 public:
  using Bytes = std::vector<std::byte>;

  RawPeer(const EngineHost& host, TargetDirectory* directory, ManualExecutor* executor,
          MonotonicTime* now, std::string address)
      : executor_(executor), now_(now) {
    PeerIdentity identity;
    identity.address = std::move(address);
    engine_ = std::make_unique<TargetConnection>(host, directory, identity, *now);
  }
  ~RawPeer() { Close(); }

  size_t chunk_bytes = 0;  // 0: as much as the engine takes
  size_t scratch_bytes = 256u << 10;
  size_t max_write_bytes = SIZE_MAX;  // what the "socket" takes per turn; 0: it is full

  void Send(std::span<const std::byte> bytes) {
    unsent_.insert(unsent_.end(), bytes.begin(), bytes.end());
    Run();
  }
  void Send(const Bytes& bytes) { Send(std::span<const std::byte>(bytes)); }

  // Turns until nothing moves.
  void Run() {
    while (Turn()) {
    }
  }
  // One turn of the driver. True when something moved.
  bool Turn() {
    bool moved = executor_->RunAll();
    if (closed_) return (!engine_->finished() && engine_->Advance(*now_)) || moved;
    moved |= Read();
    moved |= engine_->Advance(*now_);
    moved |= Write();
    if (*now_ >= engine_->NextDeadline()) engine_->OnTimer(*now_);
    if (engine_->wants_close() && (!engine_->flush_before_close() || !engine_->wants_write())) {
      Close(CloseReason::kLocal);
      moved = true;
    }
    return moved;
  }
  void Close(CloseReason reason = CloseReason::kPeerClosed) {
    if (closed_) return;
    closed_ = true;
    engine_->OnClosed(reason, 0, *now_);
    executor_->RunAll();
  }

  bool closed() const { return closed_; }
  bool finished() const { return engine_->finished(); }
  size_t unsent_bytes() const { return unsent_.size() - unsent_begin_; }
  TargetConnection& engine() { return *engine_; }
  const Bytes& received() const { return received_; }
  Bytes TakeReceived() { return std::exchange(received_, {}); }
  // Without an allocation: for tests that count them.
  void ForgetReceived() { received_.clear(); }
  void ReserveReceived(size_t bytes) { received_.reserve(bytes); }

 private:
  bool Read() {
    if (unsent_bytes() == 0 || !engine_->wants_read()) return false;
    scratch_.resize(scratch_bytes);
    std::array<MutableBuffer, 8> places;
    const int count = engine_->PrepareRead({scratch_.data(), scratch_.size()}, places);
    size_t left = chunk_bytes == 0 ? unsent_bytes() : std::min(chunk_bytes, unsent_bytes());
    size_t moved = 0;
    for (int i = 0; i < count && left > 0; ++i) {
      const size_t n = std::min(left, places[i].size_bytes);
      std::copy_n(unsent_.begin() + static_cast<ptrdiff_t>(unsent_begin_), n, places[i].data);
      unsent_begin_ += n;
      moved += n;
      left -= n;
    }
    if (unsent_bytes() == 0) {
      unsent_.clear();
      unsent_begin_ = 0;
    }
    if (moved > 0) engine_->OnRead(moved, *now_);
    // Whoever kept a pointer into the receive buffer finds garbage there.
    std::fill_n(scratch_.begin(), std::min(scratch_.size(), moved + kHeaderBytes), std::byte{0xdb});
    return moved > 0;
  }

  bool Write() {
    size_t room = max_write_bytes;
    bool moved = false;
    std::array<ConstBuffer, 64> pieces;
    for (int count = engine_->PrepareWrite(pieces); count > 0 && room > 0;
         count = engine_->PrepareWrite(pieces)) {
      size_t bytes = 0;
      for (int i = 0; i < count && room > 0; ++i) {
        const size_t n = std::min(room, pieces[i].size_bytes);
        received_.insert(received_.end(), pieces[i].data, pieces[i].data + n);
        bytes += n;
        room -= n;
      }
      engine_->OnWritten(bytes);
      moved = true;
    }
    return moved;
  }

  ManualExecutor* const executor_;
  MonotonicTime* const now_;
  std::unique_ptr<TargetConnection> engine_;
  Bytes unsent_, received_, scratch_;
  size_t unsent_begin_ = 0;
  bool closed_ = false;
};

struct TargetHarness {
  explicit TargetHarness(const FakeDeviceOptions& device_options = {},
                         const TargetOptions& options = {}, size_t pool_bytes = kMinPoolBytes)
      : pool(pool_bytes), directory(options), device(std::make_shared<FakeDevice>(device_options)) {
    (void)directory.AddDevice("disk", device);
  }
  std::unique_ptr<RawPeer> NewPeer(std::string address = "192.0.2.1") {
    return std::make_unique<RawPeer>(EngineHost{&executor, &pool}, &directory, &executor, &now,
                                     std::move(address));
  }

  ManualExecutor executor;
  BufferPool pool;
  MonotonicTime now = kNanosecondsPerSecond;
  TargetDirectory directory;
  std::shared_ptr<FakeDevice> device;
};

// --- Bytes ---

inline ConnectBody MakeBody(std::string initiator = "host", std::string target = "disk",
                            uint8_t token = 0) {
  ConnectBody body{std::move(initiator), std::move(target), {}};
  body.token.fill(std::byte{token});
  return body;
}

template <Codec C>
std::vector<std::byte> CommandBytes(const Command& command) {
  std::vector<std::byte> bytes(kHeaderBytes);
  C::EncodeCommand(command, HeaderOut(bytes.data(), kHeaderBytes));
  return bytes;
}

template <Codec C>
std::vector<std::byte> ConnectBytes(Command command, const ConnectBody& body) {
  command.kind = CommandKind::kConnect;
  command.body_length = kConnectBodyBytes;
  command.ndesc = C::kSegmentedStreams ? 1 : 0;
  std::vector<std::byte> bytes = CommandBytes<C>(command);
  if constexpr (C::kSegmentedStreams) {
    Segment segment;
    segment.length_bytes = kConnectBodyBytes;
    bytes.resize(kHeaderBytes + C::kDescriptorBytes);
    C::EncodeSegment(segment, std::span(bytes).subspan(kHeaderBytes));
  }
  const size_t at = bytes.size();
  bytes.resize(at + kConnectBodyBytes);
  (void)EncodeConnectBody(C::kDialect, body,
                          std::span(bytes).subspan(at).template first<kConnectBodyBytes>());
  return bytes;
}

// A virtqueue request whose readable part is `payload`; in `ref` one segment each way.
template <Codec C>
std::vector<std::byte> RequestBytes(uint16_t id, std::string_view payload, uint32_t in_bytes) {
  Command command;
  command.kind = CommandKind::kVq;
  command.command_id = id;
  command.out_length = static_cast<uint32_t>(payload.size());
  command.in_length = in_bytes;
  command.ndesc = static_cast<uint16_t>((payload.empty() ? 0 : 1) + (in_bytes > 0 ? 1 : 0));
  std::vector<std::byte> bytes = CommandBytes<C>(command);
  if constexpr (C::kSegmentedStreams) {
    const auto add = [&](size_t length, bool writable, uint16_t segment_id) {
      if (length == 0) return;
      Segment segment;
      segment.length_bytes = static_cast<uint32_t>(length);
      segment.writable = writable;
      segment.id = segment_id;
      bytes.resize(bytes.size() + C::kDescriptorBytes);
      C::EncodeSegment(segment, std::span(bytes).last(C::kDescriptorBytes));
    };
    add(payload.size(), false, 0x1111);
    add(in_bytes, true, 0x2222);
  }
  const auto* data = reinterpret_cast<const std::byte*>(payload.data());
  bytes.insert(bytes.end(), data, data + payload.size());
  return bytes;
}

template <Codec C>
Completion TakeCompletion(std::vector<std::byte>& received, CommandKind kind) {
  if (received.size() < kHeaderBytes) {
    Completion none;
    none.cause = Cause::kUnknown;
    none.status = 0xdead;
    return none;
  }
  const Completion completion =
      C::DecodeCompletion(kind, std::span(received).template first<kHeaderBytes>());
  received.erase(received.begin(), received.begin() + kHeaderBytes);
  return completion;
}

// Sends one command and decodes the answer to it.
template <Codec C>
Completion Call(RawPeer& peer, const Command& command) {
  peer.TakeReceived();
  peer.Send(CommandBytes<C>(command));
  std::vector<std::byte> received = peer.TakeReceived();
  return TakeCompletion<C>(received, command.kind);
}

template <Codec C>
Completion Connect(RawPeer& peer, const Command& command, const ConnectBody& body = MakeBody()) {
  peer.Send(ConnectBytes<C>(command, body));
  std::vector<std::byte> received = peer.TakeReceived();
  return TakeCompletion<C>(received, CommandKind::kConnect);
}

template <Codec C>
std::unique_ptr<RawPeer> ConnectControl(TargetHarness& target,
                                        const ConnectBody& body = MakeBody()) {
  auto peer = target.NewPeer();
  Command command;
  command.instance_id = kControlInstanceId;
  Connect<C>(*peer, command, body);
  return peer;
}

template <Codec C>
std::unique_ptr<RawPeer> ConnectQueue(TargetHarness& target, uint16_t instance_id, uint16_t index,
                                      uint16_t size = 0, const ConnectBody& body = MakeBody()) {
  auto peer = target.NewPeer();
  Command command;
  command.instance_id = instance_id;
  command.queue_index = index;
  command.queue_size = size;
  Connect<C>(*peer, command, body);
  return peer;
}

inline Command SetStatusCommand(uint32_t status, uint16_t id = 1) {
  Command command;
  command.kind = CommandKind::kSetStatus;
  command.command_id = id;
  command.value = status;
  return command;
}

// A session that is ready for requests: control queue, virtqueue 0, DRIVER_OK.
template <Codec C>
struct TestSession {
  explicit TestSession(TargetHarness& target, uint64_t transport_features = 0, uint16_t size = 0,
                       const ConnectBody& body = MakeBody()) {
    control = ConnectControl<C>(target, body);
    instance_id = target.directory.Sessions().back().instance_id;
    if (transport_features != 0) {
      Command command;
      command.kind = CommandKind::kSetFeature;
      command.value = transport_features;
      Call<C>(*control, command);
    }
    queue = ConnectQueue<C>(target, instance_id, 0, size, body);
    for (uint32_t status : {1u, 3u, 11u, 15u}) Call<C>(*control, SetStatusCommand(status));
  }
  uint16_t instance_id = 0;
  std::unique_ptr<RawPeer> control;
  std::unique_ptr<RawPeer> queue;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TESTING_TARGET_HARNESS_H_
