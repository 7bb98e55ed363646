// SPDX-License-Identifier: Apache-2.0
//
// Listening and dialing over libfabric. What channels do is in
// testing/conformance/ofi_channel_test.cc.
#include "backends/ofi/ofi_backend.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <utility>

#include "backends/ofi/ofi_backend_fixture.h"

namespace vof {
namespace {

class OfiBackendTest : public OfiBackendFixture {};

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
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(std::string(status.message()).find("provider=shm"), std::string::npos) << status;
}

// A descriptor that stays readable would keep a core busy for ever.
TEST_F(OfiBackendTest, ListenerRestsAfterAConnection) {
  for (const char* provider : {"tcp", "net", "sockets", "shm"}) {
    Listen(MakeUri(provider));
    ExpectServes();
    accepted_.clear();
    const MonotonicTime until = In(500);
    int turns = 0;
    for (; MonotonicNow() < until; ++turns) reactor_->RunOnce(Milliseconds(100));
    EXPECT_LT(turns, 500) << provider;  // it may look every two milliseconds
    listener_.reset();
  }
}

// The provider maps what is named, and believes what it finds there.
// It takes tens of milliseconds, in which nobody else is served.
// Their sockets would stay open for ever, and take every descriptor there is.
TEST_F(OfiBackendTest, IsRegisteredByItsScheme) {
  BackendRegistry registry;
  RegisterOfi(registry);
  EXPECT_TRUE(registry.Find("ofi").ok());
}

}  // namespace
}  // namespace vof
