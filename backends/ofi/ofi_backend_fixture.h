// SPDX-License-Identifier: Apache-2.0
//
// A listener over libfabric on this machine, whoever dials it, and strangers at its port.
//
//   class MyTest : public OfiBackendFixture {};
//   Listen(MakeUri("shm")); ExpectServes(); SideAnswer answer = AnswerTo(name);
#ifndef VOF_BACKENDS_OFI_OFI_BACKEND_FIXTURE_H_
#define VOF_BACKENDS_OFI_OFI_BACKEND_FIXTURE_H_

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/common/file_descriptor.h"
#include "backends/common/socket_address.h"
#include "backends/ofi/ofi_backend.h"
#include "backends/ofi/side_hello.h"
#include "core/base/time.h"
#include "core/runtime/reactor.h"

namespace vof {

inline Uri MakeUri(const std::string& provider, uint16_t port = 0) {
  Uri uri;
  uri.scheme = "ofi";
  uri.host = "127.0.0.1";
  uri.port = port;
  uri.options.provider = provider;
  return uri;
}

inline MonotonicTime In(int64_t ms) { return DeadlineAfter(MonotonicNow(), Milliseconds(ms)); }

class OfiBackendFixture : public testing::Test {
 protected:
  OfiBackendFixture() : reactor_(*Reactor::Create({.name = "listener"})) {}

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
  // To a stranger that names `endpoint` as its own.
  SideAnswer AnswerTo(const std::string& endpoint) {
    const FileDescriptor stranger = Connect();
    SideHello hello{SideAnswer::kWelcome, "shm", {}};
    for (const char c : endpoint) hello.name.push_back(static_cast<std::byte>(c));
    const std::vector<std::byte> bytes = EncodeHello(hello);
    Say(stranger, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    SideHelloParser answer;
    bool complete = false;
    RunUntil([&] {
      complete = complete || ReadHello(stranger.get(), &answer) == SideRead::kComplete;
      return complete;
    });
    return answer.hello().answer;
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
  // Files in a watched folder that have the name of an endpoint of this process.
  static int CreatedByThisProcess(const FileDescriptor& watch) {
    const std::string own = std::to_string(getpid()) + ":";
    alignas(inotify_event) std::array<char, 4096> bytes;
    int count = 0;
    for (ssize_t got = 0; (got = read(watch.get(), bytes.data(), bytes.size())) > 0;) {
      for (ssize_t at = 0; at < got;) {
        const auto* event = reinterpret_cast<const inotify_event*>(bytes.data() + at);
        if (std::string(event->name).rfind(own, 0) == 0) ++count;
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      }
    }
    return count;
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

  std::vector<std::string> troubles_;
  OfiBackend backend_{SystemResolver(),
                      [this](std::string_view line) { troubles_.emplace_back(line); }};
  const std::unique_ptr<Reactor> reactor_;
  std::vector<std::unique_ptr<Link>> accepted_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_OFI_BACKEND_FIXTURE_H_
