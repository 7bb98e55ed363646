// SPDX-License-Identifier: Apache-2.0
#include "testing/bench/bare_loop.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "core/base/time.h"

namespace vof::bench {
namespace {

// Command and block header; completion; status. What the native dialect sends for one block
// request.
constexpr size_t kRequestHeaderBytes = 32;
constexpr size_t kCompletionBytes = 16;
constexpr size_t kStatusBytes = 1;
constexpr size_t kReceiveBytes = 256u << 10;

struct Sizes {
  explicit Sizes(const BareOptions& o)
      : request(kRequestHeaderBytes + (o.write ? o.block_bytes : 0)),
        response(kCompletionBytes + kStatusBytes + (o.write ? 0 : o.block_bytes)) {}
  size_t request, response;
};

void Check(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "bare loop: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

// One end of the connection: waits as the variant says, receives once, sends all.
class Socket {
 public:
  Socket(int fd, bool poll) : fd_(fd), poll_(poll) {
    const int one = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{.events = EPOLLIN, .data = {}};
    Check(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd_, &event) == 0, "epoll_ctl");
  }
  ~Socket() {
    close(epoll_);
    close(fd_);
  }

  // Bytes received, 0 at the end.
  size_t Receive(std::byte* into, size_t size_bytes) {
    for (;;) {
      if (!poll_) {
        epoll_event event;
        if (epoll_wait(epoll_, &event, 1, -1) < 0) continue;
      }
      const ssize_t n = recv(fd_, into, size_bytes, MSG_DONTWAIT);
      if (n >= 0) return static_cast<size_t>(n);
      if (errno != EAGAIN && errno != EINTR) return 0;
    }
  }

  bool SendAll(const std::byte* from, size_t size_bytes) {
    while (size_bytes > 0) {
      const ssize_t n = send(fd_, from, size_bytes, MSG_NOSIGNAL);
      if (n < 0) return false;
      from += n;
      size_bytes -= static_cast<size_t>(n);
    }
    return true;
  }

 private:
  int fd_, epoll_;
  bool poll_;
};

// Cuts a byte stream into messages of one size without moving bytes more than it must.
class Reassembler {
 public:
  explicit Reassembler(size_t message_bytes)
      : message_bytes_(message_bytes), buffer_(kReceiveBytes + message_bytes) {}
  std::byte* place() { return buffer_.data() + held_; }
  size_t room() const { return kReceiveBytes; }
  template <typename Handle>
  void Add(size_t bytes, Handle handle) {
    held_ += bytes;
    size_t at = 0;
    for (; held_ - at >= message_bytes_; at += message_bytes_) handle(buffer_.data() + at);
    std::memmove(buffer_.data(), buffer_.data() + at, held_ - at);
    held_ -= at;
  }

 private:
  const size_t message_bytes_;
  std::vector<std::byte> buffer_;
  size_t held_ = 0;
};

void Serve(int fd, const BareOptions& o, std::byte* arena) {
  PinTo(o.server_cpu);
  const Sizes sizes(o);
  Socket socket(fd, o.poll);
  Reassembler in(sizes.request);
  std::vector<std::byte> out(sizes.response * (kReceiveBytes / sizes.request + 2));
  for (;;) {
    const size_t n = socket.Receive(in.place(), in.room());
    if (n == 0) break;
    size_t used = 0;
    in.Add(n, [&](const std::byte* request) {
      uint64_t offset;
      std::memcpy(&offset, request + 24, sizeof(offset));
      std::byte* answer = out.data() + used;
      std::memcpy(answer, request, kCompletionBytes);
      if (o.write) {
        std::memcpy(arena + offset, request + kRequestHeaderBytes, o.block_bytes);
      } else {
        std::memcpy(answer + kCompletionBytes, arena + offset, o.block_bytes);
      }
      answer[sizes.response - 1] = std::byte{0};
      used += sizes.response;
    });
    if (used > 0 && !socket.SendAll(out.data(), used)) break;
  }
}

class Client {
 public:
  Client(int fd, const BareOptions& o)
      : options_(o),
        sizes_(o),
        socket_(fd, o.poll),
        in_(sizes_.response),
        out_(sizes_.request * o.depth) {}

  BareResult Run() {
    BareResult result;
    Send(options_.depth);
    const MonotonicTime start =
        MonotonicNow() + static_cast<int64_t>(options_.warmup_seconds * kNanosecondsPerSecond);
    const MonotonicTime end =
        start + static_cast<int64_t>(options_.seconds * kNanosecondsPerSecond);
    MonotonicTime now = 0;
    MonotonicTime counted_from = 0;
    while ((now = MonotonicNow()) < end) {
      if (counted_from == 0 && now >= start) {
        counted_from = now;
        result.operations = 0;
      }
      uint32_t answered = 0;
      const size_t n = socket_.Receive(in_.place(), in_.room());
      Check(n > 0, "recv");
      in_.Add(n, [&](const std::byte*) { ++answered; });
      result.operations += answered;
      Send(answered);
    }
    result.seconds = static_cast<double>(now - counted_from) / kNanosecondsPerSecond;
    return result;
  }

 private:
  void Send(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      random_ = random_ * 6364136223846793005u + 1442695040888963407u;
      const uint64_t blocks = options_.arena_bytes / options_.block_bytes;
      const uint64_t offset = (random_ >> 33) % blocks * options_.block_bytes;
      std::memcpy(out_.data() + i * sizes_.request + 24, &offset, sizeof(offset));
    }
    if (count > 0) Check(socket_.SendAll(out_.data(), count * sizes_.request), "send");
  }

  const BareOptions options_;
  const Sizes sizes_;
  Socket socket_;
  Reassembler in_;
  std::vector<std::byte> out_;
  uint64_t random_ = 1;
};

}  // namespace

BareResult RunBareLoop(const BareOptions& options) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  Check(bind(listener, generic, length) == 0 && listen(listener, 1) == 0, "listen");
  getsockname(listener, generic, &length);
  const int client_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Check(connect(client_fd, generic, length) == 0, "connect");
  const int server_fd = accept(listener, nullptr, nullptr);
  Check(server_fd >= 0, "accept");
  close(listener);

  // Populated before anybody measures.
  void* arena = mmap(nullptr, options.arena_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  Check(arena != MAP_FAILED, "mmap");
  std::thread server([&] { Serve(server_fd, options, static_cast<std::byte*>(arena)); });
  BareResult result;
  std::thread client([&] {
    PinTo(options.client_cpu);
    result = Client(client_fd, options).Run();
  });
  client.join();
  server.join();
  munmap(arena, options.arena_bytes);
  return result;
}

}  // namespace vof::bench
