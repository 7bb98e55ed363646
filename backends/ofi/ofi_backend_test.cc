// SPDX-License-Identifier: Apache-2.0
//
// Listening and dialing over libfabric, and what strangers at the port can do. What channels do is
// in testing/conformance/ofi_channel_test.cc.
#include "backends/ofi/ofi_backend.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "backends/common/file_descriptor.h"
#include "backends/common/socket_address.h"
#include "backends/ofi/ofi_side_listener.h"
#include "backends/ofi/side_hello.h"
#include "core/base/time.h"
#include "core/runtime/reactor.h"

namespace vof {
namespace {

Uri MakeUri(const std::string& provider, uint16_t port = 0) {
  Uri uri;
  uri.scheme = "ofi";
  uri.host = "127.0.0.1";
  uri.port = port;
  uri.options.provider = provider;
  return uri;
}

MonotonicTime In(int64_t ms) { return DeadlineAfter(MonotonicNow(), Milliseconds(ms)); }

class OfiBackendTest : public testing::Test {
 protected:
  OfiBackendTest() : reactor_(*Reactor::Create({.name = "listener"})) {}

  void Listen(const Uri& uri) {
    absl::StatusOr<std::unique_ptr<Listener>> listener = backend_.Listen(
        uri, reactor_.get(),
        [this](std::unique_ptr<Link> link) { accepted_.push_back(std::move(link)); });
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
  }
  void RunUntil(const std::function<bool()>& done) {
    const MonotonicTime give_up = In(10'000);
    while (!done() && MonotonicNow() < give_up) reactor_->RunOnce(Milliseconds(1));
    EXPECT_TRUE(done());
  }
  absl::StatusOr<std::unique_ptr<Link>> Dial(const Uri& uri, int64_t timeout_ms = 10'000) {
    auto dialed = std::async([&] { return backend_.Dial(uri, In(timeout_ms)); });
    RunUntil([&] { return dialed.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
    return dialed.get();
  }
  void ExpectServes() {
    const size_t before = accepted_.size();
    absl::StatusOr<std::unique_ptr<Link>> link = Dial(listener_->address());
    ASSERT_TRUE(link.ok()) << link.status();
    RunUntil([&] { return accepted_.size() == before + 1; });
    EXPECT_EQ((*link)->transmission(), Transmission::kKeyed);
    EXPECT_NE((*link)->domain(), nullptr);
    EXPECT_EQ((*link)->peer().address, "127.0.0.1");
    EXPECT_EQ(accepted_.back()->peer().address, "127.0.0.1");
  }
  // A stranger at the port.
  FileDescriptor Connect() {
    absl::StatusOr<SocketAddress> address =
        SocketAddress::Parse("127.0.0.1", listener_->address().port);
    FileDescriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(fd.get(), address->get(), address->size_bytes()), 0);
    return fd;
  }
  static void Say(const FileDescriptor& fd, const std::string& bytes) {
    EXPECT_EQ(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  static bool IsClosed(const FileDescriptor& fd) {
    char byte = 0;
    const ssize_t got = recv(fd.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return got == 0 || (got < 0 && errno == ECONNRESET);
  }
  SideHello Answer(const FileDescriptor& fd) {
    SideHelloParser parser;
    SideRead read = SideRead::kAgain;
    RunUntil([&] {
      if (read == SideRead::kAgain) read = ReadHello(fd.get(), &parser);
      return read != SideRead::kAgain;
    });
    EXPECT_EQ(read, SideRead::kComplete);
    return parser.hello();
  }

  OfiBackend backend_;
  const std::unique_ptr<Reactor> reactor_;
  std::vector<std::unique_ptr<Link>> accepted_;
  std::unique_ptr<Listener> listener_;
};

TEST_F(OfiBackendTest, UnknownProviderIsToldWhatThereIs) {
  const absl::Status listens = backend_.Listen(MakeUri("warp"), reactor_.get(), {}).status();
  const absl::Status dials = backend_.Dial(MakeUri("warp", 1), In(1000)).status();
  for (const absl::Status& status : {listens, dials}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    const std::string text(status.message());
    for (const char* part : {"'warp'", "tcp", "net", "shm"}) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
  }
}

TEST_F(OfiBackendTest, LayeredProviderIsRefused) {
  const absl::Status status = backend_.Dial(MakeUri("tcp;ofi_rxm", 1), In(1000)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find("accesses"), std::string::npos) << status;
}

TEST_F(OfiBackendTest, FirstProviderHasConnections) {
  Listen(MakeUri(""));
  EXPECT_FALSE(listener_->address().options.provider.empty());
  EXPECT_NE(listener_->address().port, 0);
  ExpectServes();
}

TEST_F(OfiBackendTest, PortIsFreeAgainAfterAListener) {
  for (const char* provider : {"tcp", "net", "shm"}) {
    Listen(MakeUri(provider));
    const uint16_t port = listener_->address().port;
    ExpectServes();
    listener_.reset();
    accepted_.clear();
    Listen(MakeUri(provider, port));
    EXPECT_EQ(listener_->address().port, port);
    ExpectServes();
    listener_.reset();
  }
}

TEST_F(OfiBackendTest, ListenerMayEndInItsHandler) {
  for (const char* provider : {"tcp", "shm"}) {
    absl::StatusOr<std::unique_ptr<Listener>> listener = backend_.Listen(
        MakeUri(provider), reactor_.get(), [this](std::unique_ptr<Link>) { listener_.reset(); });
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
    const Uri address = listener_->address();
    EXPECT_TRUE(Dial(address).ok());
    RunUntil([&] { return listener_ == nullptr; });
  }
}

TEST_F(OfiBackendTest, NobodyListensIsSaid) {
  for (const char* provider : {"tcp", "shm"}) {
    Listen(MakeUri(provider));
    const Uri gone = listener_->address();
    listener_.reset();
    const absl::Status status = Dial(gone, 2000).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_NE(std::string(status.message()).find("127.0.0.1"), std::string::npos) << status;
  }
}

TEST_F(OfiBackendTest, SilenceIsADeadline) {
  const FileDescriptor silent(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  absl::StatusOr<SocketAddress> any = SocketAddress::Parse("127.0.0.1", 0);
  ASSERT_EQ(bind(silent.get(), any->get(), any->size_bytes()), 0);
  ASSERT_EQ(listen(silent.get(), 4), 0);
  const uint16_t port = SocketAddress::OfSocket(silent.get())->port();
  for (const char* provider : {"tcp", "shm"}) {
    const absl::Status status = backend_.Dial(MakeUri(provider, port), In(200)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << provider << status;
  }
}

TEST_F(OfiBackendTest, OtherProviderOfTheTargetIsNamed) {
  Listen(MakeUri("shm"));
  const absl::Status status = Dial(MakeUri("sockets", listener_->address().port)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find("provider=shm"), std::string::npos) << status;
}

TEST_F(OfiBackendTest, GarbageAtTheSidePortEndsThatConnectionOnly) {
  Listen(MakeUri("shm"));
  const FileDescriptor stranger = Connect();
  Say(stranger, "GET / HTTP/1.1\r\nHost: target\r\n\r\n");
  const FileDescriptor slow = Connect();
  Say(slow, "VOFS");
  RunUntil([&] { return IsClosed(stranger); });
  ExpectServes();
  EXPECT_FALSE(IsClosed(slow)) << "it has its time";
}

TEST_F(OfiBackendTest, GarbageAtAPortOfTheProviderEndsThatConnectionOnly) {
  for (const char* provider : {"tcp", "net"}) {
    Listen(MakeUri(provider));
    const FileDescriptor stranger = Connect();
    Say(stranger, std::string(4096, 'x'));
    const FileDescriptor slow = Connect();
    Say(slow, "a");
    ExpectServes();
    listener_.reset();
  }
}

TEST_F(OfiBackendTest, PeerCannotNameSomebodyElsesEndpoint) {
  const auto bytes_of = [](const std::string& text) {
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    return std::vector<std::byte>(bytes, bytes + text.size());
  };
  Listen(MakeUri("shm"));
  for (const char* name : {"fi_shm://../../etc/passwd", "fi_shm://", "/dev/mem", "fi_ns://1:2:3"}) {
    const FileDescriptor stranger = Connect();
    ASSERT_TRUE(WriteHello(stranger.get(), {SideAnswer::kWelcome, "shm", bytes_of(name)}));
    EXPECT_EQ(Answer(stranger).answer, SideAnswer::kNotReachable) << name;
    RunUntil([&] { return IsClosed(stranger); });
  }
  Listen(MakeUri("sockets"));
  const SocketAddress elsewhere = *SocketAddress::Parse("192.0.2.77", 80);
  const auto* raw = reinterpret_cast<const char*>(elsewhere.get());
  for (const std::string& name : {std::string(raw, elsewhere.size_bytes()), std::string("x")}) {
    const FileDescriptor stranger = Connect();
    ASSERT_TRUE(WriteHello(stranger.get(), {SideAnswer::kWelcome, "sockets", bytes_of(name)}));
    EXPECT_EQ(Answer(stranger).answer, SideAnswer::kNotReachable);
  }
  EXPECT_TRUE(accepted_.empty());
}

TEST_F(OfiBackendTest, OldestOfTooManyStrangersGoes) {
  Listen(MakeUri("shm"));
  std::vector<FileDescriptor> strangers;
  for (size_t i = 0; i < kMaxPendingHandshakes + 2; ++i) {
    strangers.push_back(Connect());
    reactor_->RunOnce(0);
  }
  RunUntil([&] { return IsClosed(strangers[0]) && IsClosed(strangers[1]); });
  EXPECT_FALSE(IsClosed(strangers[2]));
  ExpectServes();
}

TEST_F(OfiBackendTest, IsRegisteredByItsScheme) {
  BackendRegistry registry;
  RegisterOfi(registry);
  EXPECT_TRUE(registry.Find("ofi").ok());
}

}  // namespace
}  // namespace vof
