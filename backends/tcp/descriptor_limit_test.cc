// SPDX-License-Identifier: Apache-2.0
//
// A listener out of descriptors: clients are turned away at once, nothing spins, and it recovers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/common/file_descriptor.h"
#include "backends/common/socket_address.h"
#include "backends/common/socket_listener.h"
#include "backends/tcp/tcp_backend.h"
#include "core/base/time.h"
#include "core/runtime/reactor.h"

namespace vof {
namespace {

// Takes every descriptor that is left; gives them back when it is destroyed.
class DescriptorHog {
 public:
  DescriptorHog() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit low = before_;
    low.rlim_cur = std::min<rlim_t>(before_.rlim_cur, 256);
    setrlimit(RLIMIT_NOFILE, &low);
    for (;;) {
      FileDescriptor fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (!fd) break;
      taken_.push_back(std::move(fd));
    }
  }
  ~DescriptorHog() {
    taken_.clear();
    setrlimit(RLIMIT_NOFILE, &before_);
  }
  void GiveBack(size_t count) { taken_.resize(taken_.size() - std::min(count, taken_.size())); }

 private:
  rlimit before_{};
  std::vector<FileDescriptor> taken_;
};

FileDescriptor ConnectTo(const Uri& uri, FileDescriptor fd) {
  const SocketAddress there = *SocketAddress::Parse(uri.host, uri.port);
  EXPECT_EQ(connect(fd.get(), there.get(), there.size_bytes()), 0);
  return fd;
}

bool Closed(const FileDescriptor& fd) {
  pollfd events{.fd = fd.get(), .events = POLLIN, .revents = 0};
  char byte;
  return poll(&events, 1, 0) == 1 && recv(fd.get(), &byte, 1, MSG_DONTWAIT) <= 0;
}

int64_t CpuNanoseconds() {
  timespec ts;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
  return ts.tv_sec * kNanosecondsPerSecond + ts.tv_nsec;
}

TEST(DescriptorLimitTest, ClientsAreTurnedAwayAndTheListenerRecovers) {
  absl::StatusOr<std::unique_ptr<Reactor>> reactor = Reactor::Create({});
  ASSERT_TRUE(reactor.ok());
  std::string trouble;
  TcpBackend tcp({}, SystemResolver(), [&](std::string_view line) { trouble = line; });
  std::vector<std::unique_ptr<Link>> accepted;
  absl::StatusOr<Uri> uri = ParseUri("tcp://127.0.0.1:0");
  absl::StatusOr<std::unique_ptr<Listener>> listener =
      tcp.Listen(*uri, reactor->get(),
                 [&](std::unique_ptr<Link> link) { accepted.push_back(std::move(link)); });
  ASSERT_TRUE(listener.ok()) << listener.status();
  const Uri there = (*listener)->address();
  std::vector<FileDescriptor> sockets;
  for (int i = 0; i < 5; ++i) sockets.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));

  {
    DescriptorHog hog;
    std::vector<FileDescriptor> clients;
    for (FileDescriptor& fd : sockets) clients.push_back(ConnectTo(there, std::move(fd)));
    const int64_t cpu_before = CpuNanoseconds();
    const MonotonicTime until = DeadlineAfter(MonotonicNow(), Milliseconds(500));
    int turns = 0;
    while (MonotonicNow() < until) {
      (*reactor)->RunOnce(Milliseconds(100));
      ++turns;
    }
    for (const FileDescriptor& client : clients) EXPECT_TRUE(Closed(client)) << "left hanging";
    EXPECT_TRUE(accepted.empty());
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    EXPECT_EQ(trouble, FormatUri(there) +
                           ": 5 clients turned away: out of file descriptors, RLIMIT_NOFILE of "
                           "this process is " +
                           std::to_string(limit.rlim_cur) +
                           "; raise it (`ulimit -n`, LimitNOFILE= of systemd) or allow fewer "
                           "connections");
    EXPECT_EQ(static_cast<SocketListener*>(listener->get())->turned_away(), 5u);
    EXPECT_LT(turns, 50) << "spins";
    EXPECT_LT(CpuNanoseconds() - cpu_before, Milliseconds(250)) << "spins";
  }

  const FileDescriptor client =
      ConnectTo(there, FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  const MonotonicTime give_up = DeadlineAfter(MonotonicNow(), 5 * kNanosecondsPerSecond);
  while (accepted.empty() && MonotonicNow() < give_up) (*reactor)->RunOnce(Milliseconds(50));
  EXPECT_EQ(accepted.size(), 1u);
}

// The kernel refuses to accept before it looks whether anybody waits.
TEST(DescriptorLimitTest, WhoTakesTheLastDescriptorIsServedWithoutALament) {
  absl::StatusOr<std::unique_ptr<Reactor>> reactor = Reactor::Create({});
  ASSERT_TRUE(reactor.ok());
  std::string trouble;
  TcpBackend tcp({}, SystemResolver(), [&](std::string_view line) { trouble = line; });
  std::vector<std::unique_ptr<Link>> accepted;
  const absl::StatusOr<std::unique_ptr<Listener>> listener =
      tcp.Listen(*ParseUri("tcp://127.0.0.1:0"), reactor->get(),
                 [&](std::unique_ptr<Link> link) { accepted.push_back(std::move(link)); });
  ASSERT_TRUE(listener.ok()) << listener.status();
  FileDescriptor socket_of_client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  DescriptorHog hog;
  hog.GiveBack(1);
  const FileDescriptor client = ConnectTo((*listener)->address(), std::move(socket_of_client));
  const MonotonicTime give_up = DeadlineAfter(MonotonicNow(), 5 * kNanosecondsPerSecond);
  while (accepted.empty() && MonotonicNow() < give_up) (*reactor)->RunOnce(Milliseconds(50));
  (*reactor)->RunOnce(Milliseconds(1));
  EXPECT_EQ(accepted.size(), 1u);
  EXPECT_EQ(trouble, "");
}

TEST(DescriptorLimitTest, DiallerSaysWhichLimit) {
  TcpBackend tcp;
  DescriptorHog hog;
  const auto link = tcp.Dial(*ParseUri("tcp://127.0.0.1:1/d"), DeadlineAfter(MonotonicNow(), 1));
  ASSERT_FALSE(link.ok());
  EXPECT_NE(std::string(link.status().message()).find("ulimit -n"), std::string::npos)
      << link.status();
}

TEST(DescriptorLimitTest, ReactorSaysWhatItCouldNotMake) {
  DescriptorHog hog;
  EXPECT_FALSE(Reactor::Create({}).ok());
  hog.GiveBack(1);
  EXPECT_FALSE(Reactor::Create({}).ok()) << "it needs two";
}

}  // namespace
}  // namespace vof
