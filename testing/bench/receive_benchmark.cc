// SPDX-License-Identifier: Apache-2.0
//
// What stands behind two constants of the receive path, on a TCP connection over loopback:
//   BM_ReceiveThreshold  kDirectReceiveBytes: from which size a payload is worth a receive of its
//   own BM_ReadAhead         kReadAheadBytes: how much to read behind a large payload
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "benchmark/benchmark.h"
#include "core/base/limits.h"

namespace vof::bench {
namespace {

constexpr size_t kHeaderBytes = 32;
constexpr size_t kArenaBytes = 64u << 20;

void Check(bool ok) {
  if (!ok) std::abort();
}

// A connected pair; a thread sends messages (a header and a payload each) until it is destroyed.
class Stream {
 public:
  explicit Stream(size_t payload_bytes) : message_(kHeaderBytes + payload_bytes) {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    Check(bind(listener, generic, length) == 0 && listen(listener, 1) == 0);
    Check(getsockname(listener, generic, &length) == 0);
    sender_fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    Check(connect(sender_fd_, generic, length) == 0);
    fd_ = accept(listener, nullptr, nullptr);
    Check(fd_ >= 0);
    close(listener);
    sender_ = std::thread([this] {
      // As many messages in one send as a loaded peer would have ready.
      std::vector<std::byte> batch;
      while (batch.size() < kScratchBytes) {
        batch.insert(batch.end(), message_.begin(), message_.end());
      }
      while (send(sender_fd_, batch.data(), batch.size(), MSG_NOSIGNAL) > 0) {
      }
    });
  }
  ~Stream() {
    shutdown(sender_fd_, SHUT_RDWR);
    sender_.join();
    close(fd_);
    close(sender_fd_);
  }

  size_t Receive(iovec* pieces, size_t count) {
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = count;
    const ssize_t n = recvmsg(fd_, &message, 0);
    Check(n > 0);
    return static_cast<size_t>(n);
  }

 private:
  std::vector<std::byte> message_;
  int fd_ = -1, sender_fd_ = -1;
  std::thread sender_;
};

// Receives messages as the engines do: what is left of a payload above `direct_bytes` goes straight
// to its place, followed by up to `ahead_bytes` into the scratch buffer; the rest is copied.
class Receiver {
 public:
  Receiver(size_t payload_bytes, size_t direct_bytes, size_t ahead_bytes)
      : stream_(payload_bytes),
        payload_bytes_(payload_bytes),
        direct_bytes_(direct_bytes),
        ahead_bytes_(ahead_bytes),
        arena_(kArenaBytes),
        scratch_(kScratchBytes) {}

  // Returns the payload bytes that have arrived.
  size_t Turn() {
    std::array<iovec, 2> pieces;
    size_t count = 0;
    const size_t direct = payload_left_ > direct_bytes_ ? payload_left_ : 0;
    if (direct > 0) pieces[count++] = {place_, direct};
    pieces[count++] = {scratch_.data(), std::min(ahead_bytes_, scratch_.size())};
    const size_t received = stream_.Receive(pieces.data(), count);
    const size_t straight = std::min(received, direct);
    place_ += straight;
    payload_left_ -= straight;
    return straight + Parse(scratch_.data(), received - straight);
  }

 private:
  size_t Parse(const std::byte* from, size_t size_bytes) {
    size_t payload = 0;
    while (size_bytes > 0) {
      if (payload_left_ == 0) {
        const size_t part = std::min(size_bytes, kHeaderBytes - header_held_);
        header_held_ += part;
        from += part;
        size_bytes -= part;
        if (header_held_ < kHeaderBytes) break;
        header_held_ = 0;
        payload_left_ = payload_bytes_;
        random_ = random_ * 6364136223846793005u + 1442695040888963407u;
        place_ = arena_.data() + (random_ >> 33) % (kArenaBytes / payload_bytes_) * payload_bytes_;
      }
      const size_t part = std::min(size_bytes, payload_left_);
      std::memcpy(place_, from, part);
      place_ += part;
      payload_left_ -= part;
      from += part;
      size_bytes -= part;
      payload += part;
    }
    return payload;
  }

  Stream stream_;
  const size_t payload_bytes_, direct_bytes_, ahead_bytes_;
  std::vector<std::byte> arena_, scratch_;
  std::byte* place_ = nullptr;
  size_t payload_left_ = 0, header_held_ = 0;
  uint64_t random_ = 1;
};

void Run(benchmark::State& state, Receiver& receiver) {
  int64_t bytes = 0;
  for (auto _ : state) bytes += static_cast<int64_t>(receiver.Turn());
  state.SetBytesProcessed(bytes);
}

// Arguments: payload bytes; payloads left that are longer than this are received in place.
void BM_ReceiveThreshold(benchmark::State& state) {
  Receiver receiver(static_cast<size_t>(state.range(0)), static_cast<size_t>(state.range(1)),
                    kScratchBytes);
  Run(state, receiver);
}
BENCHMARK(BM_ReceiveThreshold)
    ->ArgNames({"payload", "direct_above"})
    ->ArgsProduct({{4 << 10, 16 << 10, 64 << 10, 256 << 10},
                   {0, 4 << 10, 16 << 10, 64 << 10, 1 << 30}})
    ->UseRealTime();

// Arguments: payload bytes; bytes read behind it.
void BM_ReadAhead(benchmark::State& state) {
  Receiver receiver(static_cast<size_t>(state.range(0)), kDirectReceiveBytes,
                    static_cast<size_t>(state.range(1)));
  Run(state, receiver);
}
BENCHMARK(BM_ReadAhead)
    ->ArgNames({"payload", "ahead"})
    ->ArgsProduct({{32 << 10, 128 << 10, 1 << 20}, {1 << 10, 8 << 10, 32 << 10, 256 << 10}})
    ->UseRealTime();

}  // namespace
}  // namespace vof::bench
