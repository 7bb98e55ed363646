// SPDX-License-Identifier: Apache-2.0
//
// The byte stream seam: all that TCP, TLS and the in-process stream have to offer.
//
//   template <ByteStream S> void Pump(S& stream) {
//     IoResult r = stream.ReadSome(buffers);
//     if (r.status == IoStatus::kAgain) { ... arm and sleep ... }
//   }
//
// A stream belongs to one thread. No call blocks. Buffers stay with the caller: when a call
// returns, the stream has no more use for them.
#ifndef VOF_CORE_TRANSPORT_BYTE_STREAM_H_
#define VOF_CORE_TRANSPORT_BYTE_STREAM_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/buffer.h"

namespace vof {

enum class IoStatus : uint8_t {
  kOk,      // `bytes` > 0 were moved
  kAgain,   // nothing can move now; WantRead / WantWrite say what to wait for
  kClosed,  // orderly end of the peer's bytes (read), or the peer is gone (write)
  kError,   // the connection broke; `error` is an errno
};

struct IoResult {
  IoStatus status = IoStatus::kAgain;
  size_t bytes = 0;
  int error = 0;
};

// Who is at the other end, for access rules and logs.
struct PeerIdentity {
  std::string address;  // "192.0.2.7" or "[2001:db8::1]"; without the port; "loop" in process
  uint16_t port = 0;
  std::vector<std::string> certificate_names;  // TLS only

  // "192.0.2.7:40000"; without a port where there is none.
  std::string Text() const { return port == 0 ? address : address + ":" + std::to_string(port); }
};

template <typename S>
concept ByteStream = requires(S stream, const S const_stream, std::span<const MutableBuffer> in,
                              std::span<const ConstBuffer> out) {
  { stream.ReadSome(in) } -> std::same_as<IoResult>;
  { stream.WriteSome(out) } -> std::same_as<IoResult>;
  // Bytes can be read although the descriptor is not readable (TLS).
  { const_stream.HasBuffered() } -> std::same_as<bool>;
  // What readiness of wait_fd() the stream needs before its last kAgain can succeed.
  { const_stream.WantRead() } -> std::same_as<bool>;
  { const_stream.WantWrite() } -> std::same_as<bool>;
  // Asks for a wake-up through wait_fd() (poll events of WantRead / WantWrite). False: there is
  // something to do now, do not sleep.
  { stream.Arm() } -> std::same_as<bool>;
  { const_stream.wait_fd() } -> std::same_as<int>;
  // Ends both directions at once; later calls return kClosed. Idempotent.
  { stream.Shutdown() } -> std::same_as<void>;
  { const_stream.peer() } -> std::same_as<const PeerIdentity&>;
};

// Streams that can end their own direction alone: the peer reads what was written, then the end.
// Without it a connection closes both directions at once after its last output.
template <typename S>
concept HalfCloseable = ByteStream<S> && requires(S stream) {
  stream.ShutdownWrite();
};

}  // namespace vof

#endif  // VOF_CORE_TRANSPORT_BYTE_STREAM_H_
