// SPDX-License-Identifier: Apache-2.0
//
// Drives one StreamEngine over one byte stream; the engine never sees the stream.
//
//   reactor->Add(std::make_unique<StreamConnection<TcpStream>>(std::move(stream),
//   std::move(engine)));
//
// A turn is: receive, Advance, send. A short read means that the stream is drained and a short
// write that it is full, so neither is followed by a call that only returns "again": at depth 1 a
// request costs each side one receive and one send.
//
// Endings: a peer that closes its direction still gets the answers to what it sent (for
// kFlushTimeout); when the engine closes after a last answer, the connection reads on for
// kLingerTimeout at most, because closing a TCP socket with unread input would make the peer lose
// that answer.
#ifndef VOF_CORE_RUNTIME_STREAM_CONNECTION_H_
#define VOF_CORE_RUNTIME_STREAM_CONNECTION_H_

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "core/base/buffer.h"
#include "core/base/limits.h"
#include "core/base/time.h"
#include "core/base/uninitialized_array.h"
#include "core/engine/stream_engine.h"
#include "core/runtime/connection.h"
#include "core/transport/byte_stream.h"

namespace vof {

template <ByteStream S>
class StreamConnection final : public Connection {
 public:
  StreamConnection(S stream, std::unique_ptr<StreamEngine> engine)
      : stream_(std::move(stream)), engine_(std::move(engine)) {}

  PollResult Poll(MonotonicTime now, MutableBuffer scratch) override {
    moved_ = more_ = false;
    polling_ = true;
    if (phase_ == Phase::kOpen) {
      PollOpen(now, scratch);
    } else {
      if (phase_ == Phase::kLingering) Discard(scratch);
      if (!engine_->finished() && engine_->Advance(now)) moved_ = true;
    }
    polling_ = false;
    if (close_requested_ && phase_ != Phase::kClosed) Close(requested_reason_, now);
    if (more_) return PollResult::kProgress;
    return moved_ ? PollResult::kDrained : PollResult::kIdle;
  }

  bool PrepareToSleep(WaitSet* wait) override {
    *wait = WaitSet{};
    const bool open = phase_ == Phase::kOpen;
    if ((open || !engine_->finished()) && engine_->has_pending_work()) {
      wait->work_fd = engine_->work_fd();
      wait->poll_again = wait->work_fd < 0;
    }
    const bool reading =
        open ? !read_closed_ && engine_->wants_read() : phase_ == Phase::kLingering;
    const bool writing = open && engine_->wants_write();
    if (writing && !write_blocked_) return false;
    if (!reading && !writing) return true;
    if ((reading && stream_.HasBuffered()) || !stream_.Arm()) return false;
    wait->transport_fd = stream_.wait_fd();
    wait->want_read = reading || stream_.WantRead();
    wait->want_write = stream_.WantWrite();
    return true;
  }

  MonotonicTime NextDeadline() const override {
    const MonotonicTime engine_deadline = engine_->NextDeadline();
    return engine_deadline < end_deadline_ ? engine_deadline : end_deadline_;
  }

  void OnTimer(MonotonicTime now) override {
    polling_ = true;  // a Close from inside waits for the Poll that follows a timer
    if (now >= engine_->NextDeadline()) engine_->OnTimer(now);
    polling_ = false;
    if (now < end_deadline_) return;
    if (phase_ == Phase::kOpen) {
      EndTransport(read_closed_ ? CloseReason::kPeerClosed : CloseReason::kLocal, ETIMEDOUT, now);
    } else {
      EndStream();
    }
  }

  void Close(CloseReason reason, MonotonicTime now) override {
    if (polling_) {  // the engine asks for it through a detour: never re-enter it
      close_requested_ = true;
      requested_reason_ = reason;
      return;
    }
    if (phase_ == Phase::kOpen) {
      EndTransport(reason, 0, now);
    } else {
      EndStream();
    }
    if (wake_) wake_();
  }

  bool finished() const override { return phase_ == Phase::kClosed && engine_->finished(); }

  std::string Describe() const override {
    const PeerIdentity& peer = stream_.peer();
    return engine_->Describe() + " at " + peer.address + ":" + std::to_string(peer.port);
  }

  void SetWake(std::function<void()> wake) override {
    engine_->set_wake(wake);
    wake_ = std::move(wake);
  }

  StreamEngine& engine() { return *engine_; }
  S& stream() { return stream_; }

 private:
  enum class Phase : uint8_t {
    kOpen,
    kLingering,  // the engine is told that the transport is closed; input is discarded
    kClosed,
  };

  void PollOpen(MonotonicTime now, MutableBuffer scratch) {
    if (!read_closed_) Receive(now, scratch);
    if (engine_->Advance(now)) moved_ = true;
    if (!Send() && !read_closed_) {
      // The peer is gone, but what it sent before may say why.
      Receive(now, scratch);
      engine_->Advance(now);
    }
    if (broken_) {
      EndTransport(CloseReason::kPeerReset, error_, now);
    } else if (engine_->wants_close()) {
      EndAsEngineWants(now);
    } else if (read_closed_) {
      EndHalfClosed(now);
    } else if (paused_ && engine_->wants_read()) {
      more_ = true;  // acting or sending gave back what it was short of
    }
  }

  void Receive(MonotonicTime now, MutableBuffer scratch) {
    UninitializedArray<MutableBuffer, kMaxIovecs> places;
    size_t left_bytes = turn_share_bytes();
    for (int i = 0; i < kMaxReceivesPerTurn && left_bytes > 0; ++i) {
      const int count = engine_->PrepareRead(scratch, places.span());
      paused_ = count == 0;
      if (paused_) return;
      const auto into = CutTo(left_bytes, places.first(static_cast<size_t>(count)));
      const IoResult result = stream_.ReadSome(into);
      if (result.status != IoStatus::kOk) {
        NoteReadEnd(result, now);
        return;
      }
      moved_ = true;
      engine_->OnRead(result.bytes, now);
      left_bytes -= result.bytes;
      if (result.bytes < TotalBytes(into) && !stream_.HasBuffered()) return;
    }
    more_ = true;
  }

  void NoteReadEnd(const IoResult& result, MonotonicTime now) {
    if (result.status == IoStatus::kAgain) return;
    moved_ = true;
    read_closed_ = true;
    if (result.status == IoStatus::kClosed) {
      SetEndDeadline(now, kFlushTimeout);
    } else {
      broken_ = true;
      error_ = result.error;
    }
  }

  // The first `most_bytes` of what is to be moved.
  template <typename Buffer>
  static std::span<const Buffer> CutTo(size_t most_bytes, std::span<Buffer> places) {
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i].size_bytes >= most_bytes) {
        places[i].size_bytes = most_bytes;
        return places.first(i + 1);
      }
      most_bytes -= places[i].size_bytes;
    }
    return places;
  }

  // False when the stream broke.
  bool Send() {
    if (broken_) return true;
    UninitializedArray<ConstBuffer, kMaxIovecs> places;
    size_t left_bytes = turn_share_bytes();
    for (int i = 0; i < kMaxSendsPerTurn && left_bytes > 0; ++i) {
      const int count = engine_->PrepareWrite(places.span());
      write_blocked_ = count != 0;
      if (count == 0) return true;
      const auto from = CutTo(left_bytes, places.first(static_cast<size_t>(count)));
      const IoResult result = stream_.WriteSome(from);
      if (result.status == IoStatus::kAgain) return true;
      if (result.status != IoStatus::kOk) {
        broken_ = true;
        error_ = result.status == IoStatus::kError ? result.error : EPIPE;
        return false;
      }
      moved_ = true;
      engine_->OnWritten(result.bytes);
      if (result.bytes < TotalBytes(from)) return true;
      left_bytes -= result.bytes;
    }
    write_blocked_ = false;
    more_ = true;
    return true;
  }

  void EndAsEngineWants(MonotonicTime now) {
    if (!engine_->flush_before_close()) {
      EndTransport(CloseReason::kLocal, 0, now);
    } else if (engine_->wants_write()) {
      SetEndDeadline(now, kFlushTimeout);
    } else if constexpr (HalfCloseable<S>) {
      stream_.ShutdownWrite();
      phase_ = read_closed_ ? Phase::kClosed : Phase::kLingering;
      if (read_closed_) stream_.Shutdown();
      end_deadline_ = kInfiniteFuture;
      if (!read_closed_) SetEndDeadline(now, kLingerTimeout);
      TellEngine(CloseReason::kLocal, 0, now);
    } else {
      EndTransport(CloseReason::kLocal, 0, now);
    }
  }

  // The peer's direction ended: what it asked for before is answered first.
  void EndHalfClosed(MonotonicTime now) {
    if (engine_->wants_write() || engine_->has_pending_work()) return;
    EndTransport(CloseReason::kPeerClosed, 0, now);
  }

  void EndTransport(CloseReason reason, int error, MonotonicTime now) {
    EndStream();
    TellEngine(reason, error, now);
  }

  void EndStream() {
    stream_.Shutdown();
    phase_ = Phase::kClosed;
    end_deadline_ = kInfiniteFuture;
  }

  void TellEngine(CloseReason reason, int error, MonotonicTime now) {
    moved_ = true;
    engine_->OnClosed(reason, error, now);
    if (!engine_->finished()) engine_->Advance(now);
  }

  void Discard(MutableBuffer scratch) {
    for (int i = 0; i < kMaxReceivesPerTurn; ++i) {
      const IoResult result = stream_.ReadSome(std::span<const MutableBuffer>(&scratch, 1));
      if (result.status == IoStatus::kAgain) return;
      if (result.status != IoStatus::kOk) return EndStream();
    }
    more_ = true;
  }

  void SetEndDeadline(MonotonicTime now, Nanoseconds limit) {
    if (end_deadline_ == kInfiniteFuture) end_deadline_ = DeadlineAfter(now, limit);
  }

  S stream_;
  std::unique_ptr<StreamEngine> engine_;
  std::function<void()> wake_;
  MonotonicTime end_deadline_ = kInfiniteFuture;
  int error_ = 0;
  Phase phase_ = Phase::kOpen;
  bool read_closed_ = false;    // no more bytes will come
  bool broken_ = false;         // neither direction works
  bool paused_ = false;         // the engine did not want to read in the last turn
  bool write_blocked_ = false;  // output is left because the stream is full
  bool polling_ = false;
  bool close_requested_ = false;
  CloseReason requested_reason_ = CloseReason::kLocal;
  bool moved_ = false;  // in this turn
  bool more_ = false;   // in this turn: there is more to do
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_STREAM_CONNECTION_H_
