// SPDX-License-Identifier: Apache-2.0
//
// What strangers at the port of a listener over libfabric can do, and who is told.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "backends/ofi/memory_name.h"
#include "backends/ofi/ofi_backend_fixture.h"
#include "backends/ofi/ofi_side_listener.h"

namespace vof {
namespace {

class OfiStrangersTest : public OfiBackendFixture {};

size_t OpenDescriptors() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    static_cast<void>(entry);
    ++count;
  }
  return count;
}

// While it lives.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(size_t most) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit low = {static_cast<rlim_t>(most), before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &low);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_ = {};
};

TEST_F(OfiStrangersTest, GarbageAtTheSidePortEndsThatConnectionOnly) {
  Listen(MakeUri("shm"));
  const FileDescriptor stranger = Connect();
  Say(stranger, "GET / HTTP/1.1\r\nHost: target\r\n\r\n");
  const FileDescriptor slow = Connect();
  Say(slow, "VOFS");
  RunUntil([&] { return IsClosed(stranger); });
  ExpectServes();
  EXPECT_FALSE(IsClosed(slow)) << "it has its time";
}

TEST_F(OfiStrangersTest, GarbageAtAPortOfTheProviderEndsThatConnectionOnly) {
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

TEST_F(OfiStrangersTest, PeerCannotNameSomebodyElsesEndpoint) {
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

TEST_F(OfiStrangersTest, OldestOfTooManyStrangersGoes) {
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

TEST_F(OfiStrangersTest, SharedMemoryOfNobodyIsRefused) {
  Listen(MakeUri("shm"));
  ExpectServes();
  const std::string proof(kMemoryProofBytes, 'p');
  for (const std::string& name : {"fi_shm://" + std::to_string(getpid()) + ":0:4711",
                                  std::string("fi_shm://1:0:0"), std::string("fi_shm://:")}) {
    EXPECT_EQ(AnswerTo(name), SideAnswer::kNotReachable);
    EXPECT_EQ(AnswerTo(name + '\0' + proof), SideAnswer::kNotReachable);
  }
  ExpectServes();
}

TEST_F(OfiStrangersTest, StrangerWithABadNameGetsNoEndpoint) {
  Listen(MakeUri("shm"));
  ExpectServes();
  accepted_.clear();
  const FileDescriptor made(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(inotify_add_watch(made.get(), "/dev/shm", IN_CREATE), 0);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(AnswerTo("fi_shm://1:0:" + std::to_string(i)), SideAnswer::kNotReachable);
  }
  EXPECT_EQ(CreatedByThisProcess(made), 0);
  ExpectServes();
  EXPECT_EQ(CreatedByThisProcess(made), 2) << "one at each end";
}

TEST_F(OfiStrangersTest, EachTurnMakesOneEndpointAtMost) {
  Listen(MakeUri("sockets"));
  std::vector<FileDescriptor> strangers;
  for (int i = 0; i < 4; ++i) {
    strangers.push_back(Connect());
    const SocketAddress own = *SocketAddress::OfSocket(strangers.back().get());
    const auto* raw = reinterpret_cast<const std::byte*>(own.get());
    ASSERT_TRUE(WriteHello(strangers.back().get(),
                           {SideAnswer::kWelcome, "sockets", {raw, raw + own.size_bytes()}}));
  }
  const MonotonicTime give_up = In(10'000);
  for (size_t before = 0; before < strangers.size() && MonotonicNow() < give_up;) {
    reactor_->RunOnce(Milliseconds(1));
    ASSERT_LE(accepted_.size(), before + 1);
    before = accepted_.size();
  }
  EXPECT_EQ(accepted_.size(), strangers.size());
}

TEST_F(OfiStrangersTest, RequestsThatCannotBeServedAreRefused) {
  Listen(MakeUri("tcp"));
  ExpectServes();
  accepted_.clear();
  const size_t base = OpenDescriptors();
  // Too little for an endpoint at both ends.
  for (const size_t spare : {4, 8, 12, 16, 24, 32}) {
    const DescriptorLimit limit(base + spare);
    const FileDescriptor reserve(open("/dev/null", O_RDONLY | O_CLOEXEC));
    (void)Dial(listener_->address(), 200);
    accepted_.clear();
  }
  EXPECT_FALSE(troubles_.empty()) << "nobody else is told";
  RunUntil([&] { return OpenDescriptors() <= base; });
  ExpectServes();
}

TEST_F(OfiStrangersTest, ShortageOfDescriptorsAtTheSidePortIsReported) {
  Listen(MakeUri("shm"));
  std::vector<FileDescriptor> strangers;
  for (int i = 0; i < 4; ++i) strangers.emplace_back(socket(AF_INET, SOCK_STREAM, 0));
  const SocketAddress address = *SocketAddress::Parse("127.0.0.1", listener_->address().port);
  {
    const DescriptorLimit none(0);
    for (const FileDescriptor& stranger : strangers) {
      EXPECT_EQ(connect(stranger.get(), address.get(), address.size_bytes()), 0);
    }
    RunUntil([this] { return !troubles_.empty(); });
  }
  EXPECT_NE(troubles_[0].find("descriptor"), std::string::npos) << troubles_[0];
  strangers.clear();
  ExpectServes();
}

}  // namespace
}  // namespace vof
