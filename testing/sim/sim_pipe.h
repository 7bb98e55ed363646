// SPDX-License-Identifier: Apache-2.0
//
// A byte stream between two ends of the simulator: bounded, single-threaded, without descriptors.
//
//   auto pipe = std::make_shared<SimPipe>(/*capacity_bytes=*/4096, observer);
//   SimStream client(pipe, SimPipe::kInitiator), server(pipe, SimPipe::kTarget);
//   pipe->Blackhole();       // the network swallows everything and tells nobody
//
// Ends as TCP does: what was written before an end closed can still be read. Readiness is asked
// for (CanRead, CanWrite), as epoll would report it.
#ifndef VOF_TESTING_SIM_SIM_PIPE_H_
#define VOF_TESTING_SIM_SIM_PIPE_H_

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "backends/loopback/byte_ring.h"
#include "core/base/buffer.h"
#include "core/transport/byte_stream.h"
#include "testing/sim/sim_wire.h"

namespace vof {

// Sees every byte when it is written, in the order of each direction.
class PipeObserver {
 public:
  virtual void OnBytes(int from_side, std::span<const std::byte> bytes) = 0;
  virtual ~PipeObserver() = default;
};

class SimPipe final : public SimWire {
 public:
  SimPipe(size_t capacity_bytes, std::shared_ptr<PipeObserver> observer)
      : observer_(std::move(observer)), ends_{End(capacity_bytes), End(capacity_bytes)} {}

  IoResult Read(int side, std::span<const MutableBuffer> into) {
    End& me = ends_[side];
    if (me.closed) return {IoStatus::kClosed, 0, 0};
    if (broken_) return {IoStatus::kError, 0, ECONNRESET};
    const size_t bytes = me.incoming.Read(into);
    if (bytes > 0) return {IoStatus::kOk, bytes, 0};
    return {me.incoming_ended ? IoStatus::kClosed : IoStatus::kAgain, 0, 0};
  }

  IoResult Write(int side, std::span<const ConstBuffer> from) {
    End& peer = ends_[1 - side];
    if (ends_[side].closed || peer.incoming_ended) return {IoStatus::kClosed, 0, 0};
    if (broken_) return {IoStatus::kError, 0, ECONNRESET};
    if (swallows_) return {IoStatus::kOk, static_cast<size_t>(TotalBytes(from)), 0};
    if (peer.closed) return {IoStatus::kClosed, 0, 0};
    const size_t bytes = peer.incoming.Write(from);
    if (bytes == 0) return {IoStatus::kAgain, 0, 0};
    if (observer_ != nullptr) Show(side, from, bytes);
    return {IoStatus::kOk, bytes, 0};
  }

  void Shutdown(int side) {
    if (std::exchange(ends_[side].closed, true)) return;
    ends_[side].incoming.Clear();
    ShutdownWrite(side);
  }
  void ShutdownWrite(int side) {
    if (!swallows_) ends_[1 - side].incoming_ended = true;
  }
  // As a reset does: bytes under way are lost, both ends get an error.
  void Break() override { broken_ = true; }
  void Blackhole() override { swallows_ = true; }

  bool CanRead(int side) const override {
    const End& me = ends_[side];
    return me.closed || broken_ || me.incoming_ended || me.incoming.size_bytes() > 0;
  }
  bool CanWrite(int side) const override {
    const End& peer = ends_[1 - side];
    return ends_[side].closed || broken_ || swallows_ || peer.closed || peer.incoming_ended ||
           peer.incoming.room_bytes() > 0;
  }

 private:
  struct End {
    explicit End(size_t capacity_bytes) : incoming(capacity_bytes) {}
    ByteRing incoming;
    bool incoming_ended = false;
    bool closed = false;
  };

  void Show(int side, std::span<const ConstBuffer> from, size_t bytes) {
    for (const ConstBuffer& piece : from) {
      const size_t part = piece.size_bytes < bytes ? piece.size_bytes : bytes;
      if (part > 0) observer_->OnBytes(side, {piece.data, part});
      bytes -= part;
    }
  }

  const std::shared_ptr<PipeObserver> observer_;
  std::array<End, 2> ends_;
  bool broken_ = false;
  bool swallows_ = false;
};

class SimStream {
 public:
  SimStream(std::shared_ptr<SimPipe> pipe, int side, std::string peer_address)
      : pipe_(std::move(pipe)), side_(side), peer_{std::move(peer_address), 0, {}} {}
  SimStream(SimStream&&) noexcept = default;
  SimStream& operator=(SimStream&&) = delete;
  ~SimStream() {
    if (pipe_ != nullptr) pipe_->Shutdown(side_);
  }

  IoResult ReadSome(std::span<const MutableBuffer> into) { return pipe_->Read(side_, into); }
  IoResult WriteSome(std::span<const ConstBuffer> from) {
    const IoResult result = pipe_->Write(side_, from);
    wants_room_ = result.status == IoStatus::kAgain ||
                  (result.status == IoStatus::kOk && result.bytes < TotalBytes(from));
    return result;
  }
  bool HasBuffered() const { return false; }
  bool WantRead() const { return false; }
  bool WantWrite() const { return wants_room_; }
  bool Arm() { return true; }
  int wait_fd() const { return -1; }
  void Shutdown() { pipe_->Shutdown(side_); }
  void ShutdownWrite() { pipe_->ShutdownWrite(side_); }
  const PeerIdentity& peer() const { return peer_; }

 private:
  std::shared_ptr<SimPipe> pipe_;
  int side_;
  PeerIdentity peer_;
  bool wants_room_ = false;
};

static_assert(HalfCloseable<SimStream>);

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_PIPE_H_
