// SPDX-License-Identifier: Apache-2.0
#include "testing/hostile/peer_forge.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/runtime/uri.h"
#include "devices/blk/client/blk_client.h"

namespace vof {
namespace {

constexpr int kThreads = 4;
constexpr size_t kMostUriBytes = 400;

struct Order {
  PeerWork work = PeerWork::kNothing;
  uint32_t delay_us = 0;
  std::array<char, kMostUriBytes> uri = {};
};
using Outcome = std::array<char, 512>;  // text

[[noreturn]] void Die(uint32_t delay_us) {
  std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
  raise(SIGKILL);
  std::abort();
}

void WorkForEver(BlkClient& disk, PeerWork work, uint64_t thread) {
  const uint64_t half = disk.info().capacity_bytes / 2;
  const size_t size = work == PeerWork::kReads    ? 256u << 10
                      : work == PeerWork::kWrites ? 64u << 10
                                                  : 512;
  std::vector<std::byte> memory(size, static_cast<std::byte>(thread + 1));
  for (uint64_t at = thread * size;; at = (at + kThreads * size) % (half - size)) {
    switch (work) {
      case PeerWork::kSmallWrites:
      case PeerWork::kWrites:
        static_cast<void>(disk.Write(at / 512 * 512, memory));
        break;
      case PeerWork::kReads:
        static_cast<void>(disk.Read(at / 512 * 512, memory));
        break;
      case PeerWork::kFlushes:
        static_cast<void>(disk.Flush());
        break;
      case PeerWork::kResets:
        static_cast<void>(thread == 0 ? disk.device().Reset() : disk.Write(0, memory));
        break;
      case PeerWork::kConnects:
      case PeerWork::kNothing:
      case PeerWork::kDisconnects:
        pause();
    }
  }
}

[[noreturn]] void Fail(int socket, const std::string& why) {
  Outcome outcome = {};
  why.copy(outcome.data(), outcome.size() - 1);
  static_cast<void>(send(socket, outcome.data(), outcome.size(), MSG_NOSIGNAL));
  _exit(1);
}

// What the peer does. Its maker reports its death unless it fails before.
[[noreturn]] void BePeer(const Order& order, int socket,
                         const std::function<void(BackendRegistry&)>& registers) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  BackendRegistry registry;
  registers(registry);
  absl::StatusOr<Uri> uri = ParseUri(order.uri.data());
  if (!uri.ok()) Fail(socket, uri.status().ToString());
  DeviceClientOptions options;
  options.own_reactor.pool_bytes = size_t{8} << 20;
  if (order.work == PeerWork::kConnects) std::thread(Die, order.delay_us).detach();
  auto disk = BlkClient::Connect(*uri, &registry, options);
  if (!disk.ok()) Fail(socket, disk.status().ToString());
  if (order.work == PeerWork::kConnects) pause();
  std::vector<std::thread> workers;
  for (uint64_t i = 0; i < kThreads; ++i) {
    workers.emplace_back(WorkForEver, std::ref(**disk), order.work, i);
  }
  if (order.work == PeerWork::kDisconnects) {
    std::thread(Die, order.delay_us).detach();
    (*disk)->device().Disconnect();
    pause();
  }
  Die(order.delay_us);
}

}  // namespace

const char* PeerWorkName(PeerWork work) {
  static constexpr std::array<const char*, kNumPeerWorks> kNames = {
      "connects", "nothing", "small writes", "writes", "reads", "flushes", "resets", "disconnects"};
  return kNames[static_cast<size_t>(work)];
}

PeerForge::PeerForge(std::function<void(BackendRegistry&)> registers,
                     const std::function<void()>& prepares)
    : registers_(std::move(registers)) {
  std::array<int, 2> ends = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) std::abort();
  maker_ = fork();
  if (maker_ < 0) std::abort();
  if (maker_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    prepares();
    Serve(ends[1]);
  }
  close(ends[1]);
  socket_ = ends[0];
}

PeerForge::~PeerForge() {
  close(socket_);
  waitpid(maker_, nullptr, 0);
}

void PeerForge::Serve(int socket) {
  Order order;
  while (recv(socket, &order, sizeof(order), 0) == sizeof(order)) {
    const pid_t peer = fork();
    if (peer == 0) BePeer(order, socket, registers_);
    int status = 0;
    waitpid(peer, &status, 0);
    if (WIFEXITED(status)) continue;  // it has said why
    Outcome outcome = {};
    if (WTERMSIG(status) != SIGKILL) {
      absl::StrCat("died of signal ", WTERMSIG(status)).copy(outcome.data(), outcome.size() - 1);
    }
    if (send(socket, outcome.data(), outcome.size(), MSG_NOSIGNAL) < 0) break;
  }
  _exit(0);
}

std::string PeerForge::Kill(const std::string& uri, PeerWork work, uint32_t delay_us) {
  Order order{work, delay_us, {}};
  if (uri.size() >= order.uri.size()) return "the URI is too long";
  uri.copy(order.uri.data(), order.uri.size() - 1);
  if (send(socket_, &order, sizeof(order), MSG_NOSIGNAL) < 0) return "the maker of peers is gone";
  Outcome outcome = {};
  if (recv(socket_, outcome.data(), outcome.size(), 0) <= 0) return "the maker of peers is gone";
  return outcome.data();
}

}  // namespace vof
