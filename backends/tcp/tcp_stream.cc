// SPDX-License-Identifier: Apache-2.0
#include "backends/tcp/tcp_stream.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <bit>
#include <cerrno>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "backends/common/socket_address.h"
#include "core/base/thread_sanitizer.h"

namespace vof {
namespace {

// Laid out alike, see core/base/buffer.h; the kernel only reads the array.
template <typename Buffer>
iovec* AsIovecs(const Buffer* buffers) {
  static_assert(kIsIovec<Buffer>);
  return std::bit_cast<iovec*>(buffers);
}

IoResult Failed(int error) {
  if (error == EAGAIN || error == EINTR) return {IoStatus::kAgain, 0, 0};
  // The peer closed, or we did: not worth an error number.
  if (error == EPIPE) return {IoStatus::kClosed, 0, error};
  return {IoStatus::kError, 0, error};
}

}  // namespace

absl::StatusOr<TcpStream> TcpStream::Adopt(FileDescriptor fd, const SocketOptions& options) {
  absl::StatusOr<SocketAddress> peer = SocketAddress::OfPeer(fd.get());
  if (!peer.ok()) return peer.status();
  if (absl::Status s = SetTcpOptions(fd.get()); !s.ok()) return s;
  if (absl::Status s = SetBufferSizes(fd.get(), options); !s.ok()) return s;
  return TcpStream(std::move(fd), PeerIdentity{peer->HostText(), peer->port(), {}});
}

IoResult TcpStream::ReadSome(std::span<const MutableBuffer> into) {
  if (shut_down_) return {IoStatus::kClosed, 0, 0};
  ssize_t got;
  size_t offered;
  if (into.size() == 1) {  // the usual case, cheaper by itself
    offered = into[0].size_bytes;
    got = recv(fd_.get(), into[0].data, offered, MSG_DONTWAIT);
  } else {
    offered = TotalBytes(into);
    msghdr message{};
    message.msg_iov = AsIovecs(into.data());
    message.msg_iovlen = into.size();
    got = recvmsg(fd_.get(), &message, MSG_DONTWAIT);
  }
  want_ = Want::kRead;
  if (got < 0) return Failed(errno);
  if (got == 0) return {offered == 0 ? IoStatus::kAgain : IoStatus::kClosed, 0, 0};
  if (static_cast<size_t>(got) == offered) want_ = Want::kNothing;
  return {IoStatus::kOk, static_cast<size_t>(got), 0};
}

IoResult TcpStream::WriteSome(std::span<const ConstBuffer> from) {
  if (shut_down_) return {IoStatus::kClosed, 0, 0};
  [[maybe_unused]] const UncheckedReads unchecked;  // devices lend their own memory
  ssize_t sent;
  size_t offered;
  if (from.size() == 1) {
    offered = from[0].size_bytes;
    sent = send(fd_.get(), from[0].data, offered, MSG_DONTWAIT | MSG_NOSIGNAL);
  } else {
    offered = TotalBytes(from);
    msghdr message{};
    message.msg_iov = AsIovecs(from.data());
    message.msg_iovlen = from.size();
    sent = sendmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  want_ = Want::kWrite;
  if (sent < 0) return Failed(errno);
  if (static_cast<size_t>(sent) == offered) want_ = Want::kNothing;
  return {sent == 0 ? IoStatus::kAgain : IoStatus::kOk, static_cast<size_t>(sent), 0};
}

void TcpStream::Shutdown() {
  if (shut_down_) return;
  shut_down_ = true;
  shutdown(fd_.get(), SHUT_RDWR);
}

void TcpStream::ShutdownWrite() {
  if (!shut_down_) shutdown(fd_.get(), SHUT_WR);
}

}  // namespace vof
