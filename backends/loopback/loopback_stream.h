// SPDX-License-Identifier: Apache-2.0
//
// A byte stream inside the process: two ends with a bounded ring in each direction.
//
//   auto [client, server] = MakeLoopbackPair({.capacity_bytes = 4096});
//   client.WriteSome(request);
//   server.ReadSome(buffers);
//
// Behaves as TCP does: what was written before an end closed can still be read, then comes the end;
// a ring that is full says kAgain. Each end belongs to one thread, the two may differ. Used by one
// thread it is deterministic. An end that sleeps is woken through an eventfd, made when it first
// sleeps.
#ifndef VOF_BACKENDS_LOOPBACK_LOOPBACK_STREAM_H_
#define VOF_BACKENDS_LOOPBACK_LOOPBACK_STREAM_H_

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "core/base/buffer.h"
#include "core/transport/byte_stream.h"

namespace vof {

// The ring of one direction: bulk transfers of 128 KiB fit twice.
inline constexpr size_t kLoopbackCapacityBytes = 256u << 10;

struct LoopbackOptions {
  size_t capacity_bytes = kLoopbackCapacityBytes;  // of each direction, at least 1
};

class LoopbackPipe;

class LoopbackStream {
 public:
  LoopbackStream(LoopbackStream&& other) noexcept = default;
  LoopbackStream& operator=(LoopbackStream&& other) noexcept;
  ~LoopbackStream();

  IoResult ReadSome(std::span<const MutableBuffer> into);
  IoResult WriteSome(std::span<const ConstBuffer> from);

  bool HasBuffered() const { return false; }
  // Both directions wake through the same descriptor, by making it readable.
  bool WantRead() const { return true; }
  bool WantWrite() const { return false; }
  // Refuses to sleep when bytes, room or an end came since the last ReadSome / WriteSome; once for
  // each such event, so that an end which does not want to read may sleep on unread bytes.
  bool Arm();
  int wait_fd() const;  // -1 before the first Arm
  void Shutdown();
  void ShutdownWrite();
  // Breaks the stream as a reset does: bytes under way are lost, both ends get kError / ECONNRESET.
  void Reset();
  const PeerIdentity& peer() const { return peer_; }

 private:
  friend std::pair<LoopbackStream, LoopbackStream> MakeLoopbackPair(const LoopbackOptions&);
  LoopbackStream(std::shared_ptr<LoopbackPipe> pipe, int side);
  void Leave();

  std::shared_ptr<LoopbackPipe> pipe_;
  int side_ = 0;
  PeerIdentity peer_;
};

static_assert(HalfCloseable<LoopbackStream>);

std::pair<LoopbackStream, LoopbackStream> MakeLoopbackPair(const LoopbackOptions& options = {});

}  // namespace vof

#endif  // VOF_BACKENDS_LOOPBACK_LOOPBACK_STREAM_H_
