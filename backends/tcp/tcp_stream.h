// SPDX-License-Identifier: Apache-2.0
//
// A connected TCP socket as a ByteStream.
//
//   absl::StatusOr<TcpStream> stream = TcpStream::Adopt(std::move(connected_fd), socket_options);
//   reactor->Add(std::make_unique<StreamConnection<TcpStream>>(*std::move(stream),
//   std::move(engine)));
//
// One system call per ReadSome and WriteSome, none for anything else but Shutdown.
#ifndef VOF_BACKENDS_TCP_TCP_STREAM_H_
#define VOF_BACKENDS_TCP_TCP_STREAM_H_

#include <span>

#include "absl/status/statusor.h"
#include "backends/common/file_descriptor.h"
#include "core/base/buffer.h"
#include "core/runtime/backend.h"
#include "core/transport/byte_stream.h"

namespace vof {

class TcpStream {
 public:
  // Takes a connected socket: no delay, keep-alive probes, buffer sizes as asked for. Fails when
  // the peer is gone already.
  static absl::StatusOr<TcpStream> Adopt(FileDescriptor fd, const SocketOptions& options);

  // At most kMaxIovecs pieces.
  IoResult ReadSome(std::span<const MutableBuffer> into);
  IoResult WriteSome(std::span<const ConstBuffer> from);

  bool HasBuffered() const { return false; }
  bool WantRead() const { return want_ == Want::kRead; }
  bool WantWrite() const { return want_ == Want::kWrite; }
  bool Arm() { return true; }  // readiness is level-triggered: there is nothing to arm
  int wait_fd() const { return fd_.get(); }
  // The descriptor stays open (and its number taken) until the stream is destroyed.
  void Shutdown();
  // Ends our direction alone: the peer reads what was written, then the end.
  void ShutdownWrite();
  const PeerIdentity& peer() const { return peer_; }

 private:
  enum class Want : uint8_t { kNothing, kRead, kWrite };

  TcpStream(FileDescriptor fd, PeerIdentity peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}

  FileDescriptor fd_;
  Want want_ = Want::kNothing;  // what the last call was short of
  bool shut_down_ = false;
  PeerIdentity peer_;
};

static_assert(ByteStream<TcpStream>);

}  // namespace vof

#endif  // VOF_BACKENDS_TCP_TCP_STREAM_H_
