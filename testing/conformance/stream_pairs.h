// SPDX-License-Identifier: Apache-2.0
//
// Makers of connected pairs of byte streams: the parameter of the typed conformance suites.
//
//   absl::StatusOr<Pair<TcpPairMaker<AddressFamily::kV4>::Stream>> pair = maker.Make();
//   pair->a.WriteSome(...); pair->b.ReadSome(...);
//
// A new backend with byte streams adds a maker here and passes the suites.
#ifndef VOF_TESTING_CONFORMANCE_STREAM_PAIRS_H_
#define VOF_TESTING_CONFORMANCE_STREAM_PAIRS_H_

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/common/file_descriptor.h"
#include "backends/common/socket_address.h"
#include "backends/loopback/faults.h"
#include "backends/loopback/loopback_stream.h"
#include "backends/tcp/tcp_stream.h"
#include "core/runtime/backend.h"

namespace vof {

template <typename S>
struct Pair {
  S a;
  S b;
};

// TCP over the loopback interface, without listener and dialer: those have tests of their own.
struct TcpPairMaker {
  using Stream = TcpStream;

  static absl::StatusOr<Pair<TcpStream>> MakeOn(const char* host, const SocketOptions& options) {
    absl::StatusOr<SocketAddress> address = SocketAddress::Parse(host, 0);
    if (!address.ok()) return address.status();
    FileDescriptor listening(socket(address->family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!listening || bind(listening.get(), address->get(), address->size_bytes()) != 0 ||
        listen(listening.get(), 1) != 0) {
      return absl::ErrnoToStatus(errno, "listen");
    }
    absl::StatusOr<SocketAddress> bound = SocketAddress::OfSocket(listening.get());
    if (!bound.ok()) return bound.status();
    FileDescriptor client(socket(address->family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!client || connect(client.get(), bound->get(), bound->size_bytes()) != 0) {
      return absl::ErrnoToStatus(errno, "connect");
    }
    FileDescriptor server(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!server) return absl::ErrnoToStatus(errno, "accept");
    absl::StatusOr<TcpStream> a = TcpStream::Adopt(std::move(client), options);
    absl::StatusOr<TcpStream> b = TcpStream::Adopt(std::move(server), options);
    if (!a.ok()) return a.status();
    if (!b.ok()) return b.status();
    return Pair<TcpStream>{*std::move(a), *std::move(b)};
  }
};

struct Tcp4PairMaker : TcpPairMaker {
  static absl::StatusOr<Pair<Stream>> Make() { return MakeOn("127.0.0.1", {}); }
};

struct Tcp6PairMaker : TcpPairMaker {
  static absl::StatusOr<Pair<Stream>> Make() { return MakeOn("::1", {}); }
};

// Small buffers: writes fill them at once.
struct SmallTcpPairMaker : TcpPairMaker {
  static absl::StatusOr<Pair<Stream>> Make() {
    return MakeOn("127.0.0.1", {.send_buffer_bytes = 64 << 10, .receive_buffer_bytes = 64 << 10});
  }
};

struct LoopbackPairMaker {
  using Stream = LoopbackStream;
  static absl::StatusOr<Pair<Stream>> Make() {
    auto [a, b] = MakeLoopbackPair();
    return Pair<Stream>{std::move(a), std::move(b)};
  }
};

// A ring whose size divides nothing: every wrap-around happens.
struct OddLoopbackPairMaker {
  using Stream = LoopbackStream;
  static absl::StatusOr<Pair<Stream>> Make() {
    auto [a, b] = MakeLoopbackPair({.capacity_bytes = 1009});
    return Pair<Stream>{std::move(a), std::move(b)};
  }
};

// Faults that slow down but lose nothing.
template <typename Maker>
struct FaultyPairMaker {
  using Stream = FaultyStream<typename Maker::Stream>;
  static FaultPlan Plan(uint64_t seed) {
    DirectionFaults faults;
    faults.short_per_mille = 300;
    faults.again_per_mille = 100;
    faults.delay_per_mille = 10;
    faults.longest_delay = 100'000;
    faults.largest_piece_bytes = 4000;
    return FaultPlan{seed, faults, faults};
  }
  static absl::StatusOr<Pair<Stream>> Make() {
    auto pair = Maker::Make();
    if (!pair.ok()) return pair.status();
    return Pair<Stream>{Stream(std::move(pair->a), Plan(1)), Stream(std::move(pair->b), Plan(2))};
  }
};

}  // namespace vof

#endif  // VOF_TESTING_CONFORMANCE_STREAM_PAIRS_H_
