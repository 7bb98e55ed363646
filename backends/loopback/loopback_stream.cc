// SPDX-License-Identifier: Apache-2.0
#include "backends/loopback/loopback_stream.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "backends/loopback/byte_ring.h"
#include "backends/loopback/patient_lock.h"

namespace vof {

// What both ends share; everything under `mutex`.
class LoopbackPipe {
 public:
  explicit LoopbackPipe(size_t capacity_bytes) : ends{End(capacity_bytes), End(capacity_bytes)} {}
  ~LoopbackPipe() {
    for (const End& end : ends) {
      if (end.event_fd >= 0) close(end.event_fd);
    }
  }
  LoopbackPipe(const LoopbackPipe&) = delete;
  LoopbackPipe& operator=(const LoopbackPipe&) = delete;

  struct End {
    explicit End(size_t capacity_bytes) : incoming(capacity_bytes) {}

    ByteRing incoming;
    bool incoming_ended = false;  // nothing more will be written
    bool closed = false;          // by its own Shutdown
    // Nothing to read, and no end of it, before somebody clears it: may be asked without the lock.
    std::atomic<bool> quiet = false;
    bool wants_room = false;  // the last WriteSome did not take everything
    // Counts what this end may care about (bytes, room, ends), and up to where it has been told.
    uint64_t events = 0;
    uint64_t events_seen = 0;

    int event_fd = -1;
    bool armed = false;      // sleeps: the next event writes event_fd
    bool signalled = false;  // event_fd is readable
  };

  void Notify(End& end) {
    end.quiet.store(false, std::memory_order_release);
    ++end.events;
    if (!end.armed) return;
    end.armed = false;
    end.signalled = true;
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = write(end.event_fd, &one, sizeof(one));
  }

  std::mutex mutex;
  bool broken = false;
  std::array<End, 2> ends;
};

namespace {

constexpr IoResult kAgain{IoStatus::kAgain, 0, 0};
constexpr IoResult kEnded{IoStatus::kClosed, 0, 0};
constexpr IoResult kBroken{IoStatus::kError, 0, ECONNRESET};

}  // namespace

LoopbackStream::LoopbackStream(std::shared_ptr<LoopbackPipe> pipe, int side)
    : pipe_(std::move(pipe)), side_(side), peer_{"loop", 0, {}} {}

LoopbackStream& LoopbackStream::operator=(LoopbackStream&& other) noexcept {
  if (this != &other) {
    Leave();
    pipe_ = std::move(other.pipe_);
    side_ = other.side_;
    peer_ = std::move(other.peer_);
  }
  return *this;
}

LoopbackStream::~LoopbackStream() { Leave(); }

void LoopbackStream::Leave() {
  if (pipe_ == nullptr) return;
  Shutdown();
  const PatientLock lock(pipe_->mutex);
  int& event_fd = pipe_->ends[side_].event_fd;
  if (event_fd >= 0) close(std::exchange(event_fd, -1));
}

IoResult LoopbackStream::ReadSome(std::span<const MutableBuffer> into) {
  LoopbackPipe::End& me = pipe_->ends[side_];
  if (me.quiet.load(std::memory_order_acquire)) return kAgain;
  const PatientLock lock(pipe_->mutex);
  LoopbackPipe::End& peer = pipe_->ends[1 - side_];
  if (me.closed) return kEnded;
  if (pipe_->broken) return kBroken;
  const size_t bytes = me.incoming.Read(into);
  // What is left (a reader that takes less than there is) is news again for Arm.
  me.events_seen = me.incoming.size_bytes() > 0 ? me.events - 1 : me.events;
  if (bytes == 0 && me.incoming.size_bytes() == 0) {
    if (me.incoming_ended) return kEnded;
    me.quiet.store(true, std::memory_order_release);
  }
  if (bytes == 0) return kAgain;
  if (peer.wants_room) pipe_->Notify(peer);
  return {IoStatus::kOk, bytes, 0};
}

IoResult LoopbackStream::WriteSome(std::span<const ConstBuffer> from) {
  const PatientLock lock(pipe_->mutex);
  LoopbackPipe::End& me = pipe_->ends[side_];
  LoopbackPipe::End& peer = pipe_->ends[1 - side_];
  if (me.closed || peer.incoming_ended) return kEnded;
  if (pipe_->broken) return kBroken;
  if (peer.closed) return kEnded;
  const size_t bytes = peer.incoming.Write(from);
  me.wants_room = bytes < TotalBytes(from);
  if (bytes == 0) return kAgain;
  pipe_->Notify(peer);
  return {IoStatus::kOk, bytes, 0};
}

bool LoopbackStream::Arm() {
  const PatientLock lock(pipe_->mutex);
  LoopbackPipe::End& me = pipe_->ends[side_];
  if (me.event_fd < 0) me.event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (me.event_fd < 0) return false;  // out of descriptors: polled instead
  if (me.signalled) {
    uint64_t count;
    [[maybe_unused]] const auto got = read(me.event_fd, &count, sizeof(count));
    me.signalled = false;
  }
  if (me.events_seen != me.events) {
    me.events_seen = me.events;
    return false;
  }
  me.armed = true;
  return true;
}

int LoopbackStream::wait_fd() const {
  const PatientLock lock(pipe_->mutex);
  return pipe_->ends[side_].event_fd;
}

void LoopbackStream::Shutdown() {
  const PatientLock lock(pipe_->mutex);
  LoopbackPipe::End& me = pipe_->ends[side_];
  LoopbackPipe::End& peer = pipe_->ends[1 - side_];
  if (me.closed) return;
  me.closed = true;
  me.quiet.store(false, std::memory_order_release);
  me.incoming.Clear();
  peer.incoming_ended = true;
  pipe_->Notify(peer);
}

void LoopbackStream::ShutdownWrite() {
  const PatientLock lock(pipe_->mutex);
  LoopbackPipe::End& peer = pipe_->ends[1 - side_];
  if (peer.incoming_ended) return;
  peer.incoming_ended = true;
  pipe_->Notify(peer);
}

void LoopbackStream::Reset() {
  const PatientLock lock(pipe_->mutex);
  if (pipe_->broken) return;
  pipe_->broken = true;
  for (LoopbackPipe::End& end : pipe_->ends) {
    end.incoming.Clear();
    pipe_->Notify(end);
  }
}

std::pair<LoopbackStream, LoopbackStream> MakeLoopbackPair(const LoopbackOptions& options) {
  auto pipe = std::make_shared<LoopbackPipe>(options.capacity_bytes);
  return {LoopbackStream(pipe, 0), LoopbackStream(pipe, 1)};
}

}  // namespace vof
