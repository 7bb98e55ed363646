// SPDX-License-Identifier: Apache-2.0
//
// Listening and dialling over the loopback interface.
#include "backends/tcp/tcp_backend.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/common/file_descriptor.h"
#include "backends/common/socket_address.h"
#include "core/base/time.h"
#include "core/runtime/reactor.h"

namespace vof {
namespace {

using testing::HasSubstr;

Uri Address(const std::string& text) {
  absl::StatusOr<Uri> uri = ParseUri(text);
  EXPECT_TRUE(uri.ok()) << uri.status();
  return uri.ok() ? *uri : Uri{};
}

MonotonicTime In(Nanoseconds delay) { return DeadlineAfter(MonotonicNow(), delay); }

// A port of 127.0.0.1 where nobody listens: bound, so that nobody else can, but refusing.
class ClosedPort {
 public:
  ClosedPort() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const SocketAddress any = *SocketAddress::Parse("127.0.0.1", 0);
    EXPECT_EQ(bind(fd_.get(), any.get(), any.size_bytes()), 0);
  }
  SocketAddress address() const { return *SocketAddress::OfSocket(fd_.get()); }

 private:
  FileDescriptor fd_;
};

// A listener whose queue is full: further clients get no answer at all.
class SilentPort {
 public:
  SilentPort() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const SocketAddress any = *SocketAddress::Parse("127.0.0.1", 0);
    EXPECT_EQ(bind(fd_.get(), any.get(), any.size_bytes()), 0);
    EXPECT_EQ(listen(fd_.get(), 0), 0);
    for (int i = 0; i < 8; ++i) {
      fillers_.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      const SocketAddress there = address();
      connect(fillers_.back().get(), there.get(), there.size_bytes());
    }
  }
  SocketAddress address() const { return *SocketAddress::OfSocket(fd_.get()); }

 private:
  FileDescriptor fd_;
  std::vector<FileDescriptor> fillers_;
};

class TcpBackendTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Reactor>> reactor = Reactor::Create({});
    ASSERT_TRUE(reactor.ok()) << reactor.status();
    reactor_ = *std::move(reactor);
  }
  std::unique_ptr<Listener> Listen(Backend& backend, const std::string& uri) {
    absl::StatusOr<std::unique_ptr<Listener>> listener = backend.Listen(
        Address(uri), reactor_.get(),
        [this](std::unique_ptr<Link> link) { accepted_.push_back(std::move(link)); });
    EXPECT_TRUE(listener.ok()) << listener.status();
    return listener.ok() ? *std::move(listener) : nullptr;
  }
  std::string ListenError(Backend& backend, const std::string& uri) {
    absl::StatusOr<std::unique_ptr<Listener>> listener =
        backend.Listen(Address(uri), reactor_.get(), [](std::unique_ptr<Link>) {});
    EXPECT_FALSE(listener.ok());
    return std::string(listener.status().message());
  }
  void ExpectConnects(Backend& backend, const std::string& listen, const std::string& host) {
    std::unique_ptr<Listener> listener = Listen(backend, listen);
    ASSERT_NE(listener, nullptr);
    Uri there = listener->address();
    there.host = host;
    absl::StatusOr<std::unique_ptr<Link>> link = backend.Dial(there, In(5 * kNanosecondsPerSecond));
    ASSERT_TRUE(link.ok()) << link.status();
    EXPECT_EQ((*link)->transmission(), Transmission::kStream);
    const size_t before = accepted_.size();
    for (int i = 0; i < 100 && accepted_.size() == before; ++i) reactor_->RunOnce(Milliseconds(10));
    ASSERT_EQ(accepted_.size(), before + 1);
    EXPECT_FALSE(accepted_.back()->peer().address.empty());
  }

  std::unique_ptr<Reactor> reactor_;
  std::vector<std::unique_ptr<Link>> accepted_;
};

TEST_F(TcpBackendTest, ConnectsOverBothFamilies) {
  TcpBackend tcp;
  ExpectConnects(tcp, "tcp://127.0.0.1:0", "127.0.0.1");
  ExpectConnects(tcp, "tcp://[::1]:0", "::1");
  ExpectConnects(tcp, "tcp://[::1]:0", "0:0:0:0:0:0:0:1");
  ExpectConnects(tcp, "tcp://localhost:0", "localhost");
}

TEST_F(TcpBackendTest, EmptyHostListensOnEveryAddressWithOnePort) {
  TcpBackend tcp;
  ExpectConnects(tcp, "tcp://:0/", "127.0.0.1");
  ExpectConnects(tcp, "tcp://:0/", "::1");
}

TEST_F(TcpBackendTest, NameWithSeveralAddressesListensOnAllWithTheSamePort) {
  TcpBackend tcp({}, [](const ResolveQuery& query) -> absl::StatusOr<std::vector<SocketAddress>> {
    return std::vector<SocketAddress>{*SocketAddress::Parse("127.0.0.1", query.port),
                                      *SocketAddress::Parse("127.0.0.2", query.port),
                                      *SocketAddress::Parse("::1", query.port)};
  });
  std::unique_ptr<Listener> listener = Listen(tcp, "tcp://disk.example:0");
  ASSERT_NE(listener, nullptr);
  EXPECT_NE(listener->address().port, 0);
  EXPECT_EQ(listener->address().host, "disk.example");
  TcpBackend plain;
  for (const char* host : {"127.0.0.1", "127.0.0.2", "::1"}) {
    Uri there = listener->address();
    there.host = host;
    EXPECT_TRUE(plain.Dial(there, In(5 * kNanosecondsPerSecond)).ok()) << host;
  }
}

TEST_F(TcpBackendTest, ScopedAddress) {
  const unsigned index = if_nametoindex("lo");
  ASSERT_NE(index, 0u);
  const absl::StatusOr<SocketAddress> scoped = SocketAddress::Parse("fe80::1%lo", 8549);
  ASSERT_TRUE(scoped.ok()) << scoped.status();
  EXPECT_EQ(scoped->Text(), "[fe80::1%lo]:8549");
  EXPECT_EQ(reinterpret_cast<const sockaddr_in6*>(scoped->get())->sin6_scope_id, index);
  EXPECT_FALSE(SocketAddress::Parse("fe80::1%nosuchinterface", 1).ok());
}

TEST_F(TcpBackendTest, FirstAddressDeadSecondAlive) {
  TcpBackend plain;
  std::unique_ptr<Listener> listener = Listen(plain, "tcp://127.0.0.1:0");
  ASSERT_NE(listener, nullptr);
  const SocketAddress alive = *SocketAddress::Parse("127.0.0.1", listener->address().port);
  const ClosedPort refusing;
  const SilentPort silent;
  TcpBackend tcp({}, [&](const ResolveQuery&) -> absl::StatusOr<std::vector<SocketAddress>> {
    return std::vector<SocketAddress>{refusing.address(), silent.address(), alive};
  });
  const MonotonicTime start = MonotonicNow();
  absl::StatusOr<std::unique_ptr<Link>> link =
      tcp.Dial(Address("tcp://disk.example/d"), In(2 * kNanosecondsPerSecond));
  ASSERT_TRUE(link.ok()) << link.status();
  EXPECT_LT(MonotonicNow() - start, 2 * kNanosecondsPerSecond) << "the dead ones took all the time";
}

TEST_F(TcpBackendTest, DialErrorNamesEachAddressAndCause) {
  const ClosedPort refusing;
  const SilentPort silent;
  TcpBackend tcp({}, [&](const ResolveQuery&) -> absl::StatusOr<std::vector<SocketAddress>> {
    return std::vector<SocketAddress>{refusing.address(), silent.address()};
  });
  const auto link = tcp.Dial(Address("tcp://disk.example/d"), In(Milliseconds(300)));
  ASSERT_FALSE(link.ok());
  EXPECT_TRUE(absl::IsUnavailable(link.status())) << link.status();
  const std::string text(link.status().message());
  EXPECT_THAT(text, HasSubstr("disk.example"));
  EXPECT_THAT(text, HasSubstr(refusing.address().Text() + ": Connection refused"));
  EXPECT_THAT(text, HasSubstr(silent.address().Text() + ": no answer within"));
}

TEST_F(TcpBackendTest, NobodyAnsweringIsDeadlineExceeded) {
  const SilentPort silent;
  TcpBackend tcp({}, [&](const ResolveQuery&) -> absl::StatusOr<std::vector<SocketAddress>> {
    return std::vector<SocketAddress>{silent.address()};
  });
  const MonotonicTime start = MonotonicNow();
  const auto link = tcp.Dial(Address("tcp://disk.example/d"), In(Milliseconds(200)));
  ASSERT_FALSE(link.ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(link.status())) << link.status();
  EXPECT_GE(MonotonicNow() - start, Milliseconds(190));
}

TEST_F(TcpBackendTest, UnknownNameSaysSo) {
  TcpBackend tcp;
  const auto link =
      tcp.Dial(Address("tcp://no-such-host.invalid/d"), In(5 * kNanosecondsPerSecond));
  ASSERT_FALSE(link.ok());
  EXPECT_THAT(std::string(link.status().message()), HasSubstr("no-such-host.invalid"));
  EXPECT_FALSE(tcp.Dial(Address("tcp:///d"), In(0)).ok()) << "no host";
}

TEST_F(TcpBackendTest, AddressNotThereIsExplained) {
  TcpBackend tcp;
  const std::string error = ListenError(tcp, "tcp://192.0.2.77:8549");
  EXPECT_THAT(error, HasSubstr("192.0.2.77:8549"));
  EXPECT_THAT(error, HasSubstr("does not have that address (yet)"));
}

TEST_F(TcpBackendTest, PortInUseIsExplained) {
  TcpBackend tcp;
  std::unique_ptr<Listener> first = Listen(tcp, "tcp://127.0.0.1:0");
  ASSERT_NE(first, nullptr);
  const std::string port = std::to_string(first->address().port);
  const std::string error = ListenError(tcp, "tcp://127.0.0.1:" + port);
  EXPECT_THAT(error, HasSubstr("127.0.0.1:" + port));
  EXPECT_THAT(error, HasSubstr("another program listens there"));
}

TEST_F(TcpBackendTest, PortInTimeWaitCanBeListenedOnAgain) {
  TcpBackend tcp;
  std::unique_ptr<Listener> listener = Listen(tcp, "tcp://127.0.0.1:0");
  ASSERT_NE(listener, nullptr);
  const Uri there = listener->address();
  {
    absl::StatusOr<std::unique_ptr<Link>> link = tcp.Dial(there, In(5 * kNanosecondsPerSecond));
    ASSERT_TRUE(link.ok());
    for (int i = 0; i < 100 && accepted_.empty(); ++i) reactor_->RunOnce(Milliseconds(10));
    accepted_.clear();  // our side closes first: it is the one in TIME_WAIT
  }
  listener.reset();
  EXPECT_NE(Listen(tcp, "tcp://127.0.0.1:" + std::to_string(there.port)), nullptr);
}

TEST_F(TcpBackendTest, ListenerEndsWhenDestroyed) {
  TcpBackend tcp;
  std::unique_ptr<Listener> listener = Listen(tcp, "tcp://127.0.0.1:0");
  const Uri there = listener->address();
  listener.reset();
  EXPECT_TRUE(absl::IsUnavailable(tcp.Dial(there, In(kNanosecondsPerSecond)).status()));
}

TEST_F(TcpBackendTest, ListenerMayEndInItsOwnHandler) {
  TcpBackend tcp;
  std::unique_ptr<Listener> listener;
  auto canary = std::make_shared<int>(7);  // goes with the handler
  int accepted = 0;
  auto opened = tcp.Listen(Address("tcp://127.0.0.1:0"), reactor_.get(),
                           [&listener, &accepted, canary](std::unique_ptr<Link>) {
                             listener.reset();
                             accepted += *canary;
                           });
  ASSERT_TRUE(opened.ok()) << opened.status();
  listener = *std::move(opened);
  const Uri there = listener->address();
  // Several wait: the loop that accepts them must not go on.
  std::vector<absl::StatusOr<std::unique_ptr<Link>>> links;
  for (int i = 0; i < 3; ++i) links.push_back(tcp.Dial(there, In(5 * kNanosecondsPerSecond)));
  for (int i = 0; i < 100 && accepted == 0; ++i) reactor_->RunOnce(Milliseconds(10));
  for (int i = 0; i < 10; ++i) reactor_->RunOnce(0);
  EXPECT_EQ(accepted, 7);
  EXPECT_TRUE(absl::IsUnavailable(tcp.Dial(there, In(kNanosecondsPerSecond)).status()));
}

// In a network of its own, whose loopback interface has a link-local address.
constexpr int kMayNotMakeNetworks = 77;

bool AddLinkLocalAddress() {
  const FileDescriptor v4(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const FileDescriptor v6(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq up{};
  std::memcpy(up.ifr_name, "lo", sizeof("lo"));
  up.ifr_flags = IFF_UP | IFF_RUNNING | IFF_LOOPBACK;
  // linux/ipv6.h has it, and clashes with the C library's headers.
  struct {
    in6_addr address{};
    uint32_t prefix_length = 64;
    int interface_index = 0;
  } add;
  add.interface_index = static_cast<int>(if_nametoindex("lo"));
  return ioctl(v4.get(), SIOCSIFFLAGS, &up) == 0 &&
         inet_pton(AF_INET6, "fe80::1", &add.address) == 1 &&
         ioctl(v6.get(), SIOCSIFADDR, &add) == 0;
}

// The kernel makes an address usable a moment after it was added.
bool WaitForLinkLocalAddress() {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_scope_id = if_nametoindex("lo");
  inet_pton(AF_INET6, "fe80::1", &address.sin6_addr);
  const MonotonicTime deadline = In(10 * kNanosecondsPerSecond);
  while (MonotonicNow() < deadline) {
    const FileDescriptor fd(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return true;
    poll(nullptr, 0, 10);
  }
  return false;
}

int ConnectOverScopedAddress() {
  if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
    return kMayNotMakeNetworks;
  }
  if (!AddLinkLocalAddress()) return kMayNotMakeNetworks;
  if (!WaitForLinkLocalAddress()) return 6;
  auto reactor = *Reactor::Create({});
  std::vector<std::unique_ptr<Link>> accepted;
  TcpBackend tcp;
  auto listener =
      tcp.Listen(Address("tcp://[fe80::1%25lo]:0"), reactor.get(),
                 [&accepted](std::unique_ptr<Link> link) { accepted.push_back(std::move(link)); });
  if (!listener.ok()) return 1;
  const auto link = tcp.Dial((*listener)->address(), In(5 * kNanosecondsPerSecond));
  if (!link.ok()) return 2;
  for (int i = 0; i < 100 && accepted.empty(); ++i) reactor->RunOnce(Milliseconds(10));
  if (accepted.size() != 1) return 3;
  const std::string scoped = "fe80::1%lo";
  if (accepted[0]->peer().address.find(scoped) == std::string::npos) return 4;
  if ((*link)->peer().address.find(scoped) == std::string::npos) return 5;
  accepted.clear();
  return 0;
}

TEST_F(TcpBackendTest, ConnectsOverAScopedAddress) {
  reactor_.reset();  // a child has no use for it
  EXPECT_EXIT(
      {
        const int result = ConnectOverScopedAddress();
        if (result == kMayNotMakeNetworks) fprintf(stderr, "SKIPPED: may not make a network\n");
        _exit(result == kMayNotMakeNetworks ? 0 : result);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(TcpBackendTest, BufferSizesReachTheSocket) {
  const FileDescriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_TRUE(
      SetBufferSizes(fd.get(), {.send_buffer_bytes = 65536, .receive_buffer_bytes = 131072}).ok());
  int bytes = 0;
  socklen_t size = sizeof(bytes);
  ASSERT_EQ(getsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &bytes, &size), 0);
  EXPECT_EQ(bytes, 2 * 65536) << "the kernel doubles it for its own needs";
  ASSERT_EQ(getsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &bytes, &size), 0);
  EXPECT_EQ(bytes, 2 * 131072);
  TcpBackend tcp({.send_buffer_bytes = 65536, .receive_buffer_bytes = 131072});
  ExpectConnects(tcp, "tcp://127.0.0.1:0", "127.0.0.1");
}

TEST_F(TcpBackendTest, RegistryFindsTcpAndListsWhatIsKnown) {
  BackendRegistry registry;
  EXPECT_THAT(std::string(registry.Find("tcp").status().message()), HasSubstr("no backend"));
  RegisterTcp(registry);
  ASSERT_TRUE(registry.Find("tcp").ok());
  EXPECT_EQ((*registry.Find("tcp"))->scheme(), "tcp");
  EXPECT_THAT(std::string(registry.Find("rdma").status().message()), HasSubstr("known: tcp"));
}

}  // namespace
}  // namespace vof
