// SPDX-License-Identifier: Apache-2.0
//
// A TCP proxy on the loopback that ends a connection with a RST in the middle of what the target
// sends, for tests of what a client makes of it.
//
//   ResetProxy proxy(target_port, {.connection = 1, .after_bytes = 100});   // the second one
//   Connect(absl::StrCat("tcp://127.0.0.1:", proxy.port(), "/disk0"));
//
// One thread of its own; the destructor ends it.
#ifndef VOF_TESTING_CLIENT_RESET_PROXY_H_
#define VOF_TESTING_CLIENT_RESET_PROXY_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace vof {

class ResetProxy {
 public:
  struct Cut {
    size_t connection = 0;     // counted from 0, in the order of their arrival
    uint64_t after_bytes = 0;  // of what the target sends
  };

  ResetProxy(uint16_t target_port, const Cut& cut)
      : target_(Loopback(target_port)), cut_(cut), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = Loopback(0);
    socklen_t size = sizeof(address);
    ok_ = bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
          listen(listener_, 64) == 0 &&
          getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Run(); });
  }
  ~ResetProxy() {
    stopped_ = true;
    thread_.join();
    for (const Pair& pair : pairs_) CloseBoth(pair);
    close(listener_);
  }
  ResetProxy(const ResetProxy&) = delete;
  ResetProxy& operator=(const ResetProxy&) = delete;

  bool ok() const { return ok_; }
  uint16_t port() const { return port_; }
  // Whether a connection has been reset.
  bool has_cut() const { return has_cut_; }

 private:
  struct Pair {
    int client = -1;
    int target = -1;
    size_t number = 0;
    uint64_t from_target_bytes = 0;
  };

  static sockaddr_in Loopback(uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
  }
  static void CloseBoth(const Pair& pair) {
    close(pair.client);
    close(pair.target);
  }

  void Run() {
    while (!stopped_) {
      std::vector<pollfd> polled = {{listener_, POLLIN, 0}};
      for (const Pair& pair : pairs_) {
        polled.push_back({pair.client, POLLIN, 0});
        polled.push_back({pair.target, POLLIN, 0});
      }
      if (poll(polled.data(), polled.size(), 20) <= 0) continue;
      for (size_t i = pairs_.size(); i-- > 0;) {
        const bool from_client = polled[1 + 2 * i].revents != 0;
        const bool from_target = polled[2 + 2 * i].revents != 0;
        if ((from_client && !FromClient(&pairs_[i])) || (from_target && !FromTarget(&pairs_[i]))) {
          CloseBoth(pairs_[i]);
          pairs_.erase(pairs_.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
      if (polled[0].revents != 0) Accept();
    }
  }
  void Accept() {
    Pair pair{.client = accept(listener_, nullptr, nullptr),
              .target = socket(AF_INET, SOCK_STREAM, 0),
              .number = num_accepted_++};
    if (connect(pair.target, reinterpret_cast<const sockaddr*>(&target_), sizeof(target_)) != 0) {
      CloseBoth(pair);
      return;
    }
    pairs_.push_back(pair);
  }
  bool FromClient(Pair* pair) {
    const ssize_t got = recv(pair->client, buffer_.data(), buffer_.size(), 0);
    return got > 0 && SendAll(pair->target, static_cast<size_t>(got));
  }
  bool FromTarget(Pair* pair) {
    size_t room = buffer_.size();
    const bool cuts = pair->number == cut_.connection;
    if (cuts) room = std::min<uint64_t>(room, cut_.after_bytes - pair->from_target_bytes);
    if (room == 0) return Reset(pair);
    const ssize_t got = recv(pair->target, buffer_.data(), room, 0);
    if (got <= 0 || !SendAll(pair->client, static_cast<size_t>(got))) return false;
    pair->from_target_bytes += static_cast<uint64_t>(got);
    return !cuts || pair->from_target_bytes < cut_.after_bytes || Reset(pair);
  }
  // Always false: the pair is over.
  bool Reset(Pair* pair) {
    const linger at_once = {.l_onoff = 1, .l_linger = 0};
    setsockopt(pair->client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    has_cut_ = true;
    return false;
  }
  bool SendAll(int to, size_t size_bytes) {
    for (size_t done = 0; done < size_bytes;) {
      const ssize_t put = send(to, buffer_.data() + done, size_bytes - done, MSG_NOSIGNAL);
      if (put <= 0) return false;
      done += static_cast<size_t>(put);
    }
    return true;
  }

  const sockaddr_in target_;
  const Cut cut_;
  const int listener_;
  bool ok_ = false;
  uint16_t port_ = 0;
  std::atomic<bool> stopped_ = false;
  std::atomic<bool> has_cut_ = false;
  std::vector<Pair> pairs_;  // the thread's
  size_t num_accepted_ = 0;
  std::array<char, 16384> buffer_;
  std::thread thread_;
};

}  // namespace vof

#endif  // VOF_TESTING_CLIENT_RESET_PROXY_H_
