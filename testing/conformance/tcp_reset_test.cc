// SPDX-License-Identifier: Apache-2.0
//
// What a TCP stream says when its peer resets the connection (SO_LINGER of 0) instead of closing
// it.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <optional>
#include <span>
#include <utility>

#include "core/base/buffer.h"
#include "core/base/time.h"
#include "core/transport/byte_stream.h"
#include "testing/conformance/stream_pairs.h"

namespace vof {
namespace {

template <typename Maker>
class TcpResetTest : public testing::Test {
 protected:
  void SetUp() override {
    auto pair = Maker::Make();
    ASSERT_TRUE(pair.ok()) << pair.status();
    here_.emplace(std::move(pair->a));
    there_.emplace(std::move(pair->b));
  }
  void Reset() {
    const linger at_once = {.l_onoff = 1, .l_linger = 0};
    ASSERT_EQ(setsockopt(there_->wait_fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    // The descriptor closes without a shutdown before: that would send what an orderly end sends.
    const int copy = there_->wait_fd();
    const sockaddr nowhere = {.sa_family = AF_UNSPEC, .sa_data = {}};
    ASSERT_EQ(connect(copy, &nowhere, sizeof(nowhere)), 0);  // resets it, as a close would
    there_.reset();
  }
  IoResult Read() {
    const MutableBuffer into(bytes_.data(), bytes_.size());
    return here_->ReadSome(std::span<const MutableBuffer>(&into, 1));
  }
  IoResult Write() {
    const ConstBuffer from(bytes_.data(), bytes_.size());
    return here_->WriteSome(std::span<const ConstBuffer>(&from, 1));
  }
  bool Wakes() {
    while (!here_->Arm()) Read();
    pollfd fd{.fd = here_->wait_fd(), .events = POLLIN, .revents = 0};
    return poll(&fd, 1, 5000) == 1;
  }

  std::optional<typename Maker::Stream> here_, there_;
  std::array<std::byte, 4096> bytes_ = {};
};

using Makers = testing::Types<Tcp4PairMaker, Tcp6PairMaker>;
TYPED_TEST_SUITE(TcpResetTest, Makers);

TYPED_TEST(TcpResetTest, AReadThatWaitsIsWokenWithTheError) {
  EXPECT_EQ(this->Read().status, IoStatus::kAgain);
  this->Reset();
  EXPECT_TRUE(this->Wakes());
  const IoResult result = this->Read();
  EXPECT_EQ(result.status, IoStatus::kError);
  EXPECT_EQ(result.error, ECONNRESET);
  // The kernel tells it once; from then on it is an end, and never a "try again".
  EXPECT_NE(this->Read().status, IoStatus::kAgain);
  EXPECT_NE(this->Read().status, IoStatus::kOk);
}

TYPED_TEST(TcpResetTest, AWriteFailsWithoutASignal) {
  this->Reset();
  EXPECT_TRUE(this->Wakes());
  const IoResult first = this->Write();
  EXPECT_TRUE(first.status == IoStatus::kError || first.status == IoStatus::kClosed);
  const IoResult second = this->Write();  // would be SIGPIPE
  EXPECT_TRUE(second.status == IoStatus::kError || second.status == IoStatus::kClosed);
}

TYPED_TEST(TcpResetTest, UnreadBytesAndOwnShutdownDoNotHideIt) {
  EXPECT_EQ(this->Write().status, IoStatus::kOk);  // the peer never reads it
  this->Reset();
  EXPECT_TRUE(this->Wakes());
  EXPECT_EQ(this->Read().status, IoStatus::kError);
  this->here_->Shutdown();
  this->here_->Shutdown();
  EXPECT_EQ(this->Read().status, IoStatus::kClosed);
}

}  // namespace
}  // namespace vof
