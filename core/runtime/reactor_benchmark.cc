// SPDX-License-Identifier: Apache-2.0
//
// What a turn of the reactor adds to the system calls that it makes.
//
//   bazel run -c opt //core/runtime:reactor_benchmark
//
// The stream answers at once without a system call: one small request per turn, as at depth 1.
#include <benchmark/benchmark.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/base/time.h"
#include "core/engine/stream_engine.h"
#include "core/runtime/reactor.h"
#include "core/runtime/stream_connection.h"
#include "core/transport/byte_stream.h"

namespace vof {
namespace {

constexpr size_t kRequestBytes = 64;

// Always readable, always writable.
class ReadyStream {
 public:
  explicit ReadyStream(int fd) : fd_(fd) {}
  IoResult ReadSome(std::span<const MutableBuffer>) { return {IoStatus::kOk, kRequestBytes, 0}; }
  IoResult WriteSome(std::span<const ConstBuffer>) { return {IoStatus::kOk, kRequestBytes, 0}; }
  bool HasBuffered() const { return false; }
  bool WantRead() const { return false; }
  bool WantWrite() const { return false; }
  bool Arm() { return true; }
  int wait_fd() const { return fd_; }
  void Shutdown() {}
  const PeerIdentity& peer() const { return peer_; }

 private:
  int fd_;
  PeerIdentity peer_;
};

// Answers each request with as many bytes; its deadline moves with every request, as a time-out
// does.
class AnswerEngine final : public StreamEngine {
 public:
  int PrepareRead(MutableBuffer scratch, std::span<MutableBuffer> into) override {
    into[0] = scratch;
    return 1;
  }
  void OnRead(size_t bytes, MonotonicTime now) override {
    unsent_ += bytes;
    deadline_ = now + kNanosecondsPerSecond;
  }
  bool wants_read() const override { return true; }
  bool Advance(MonotonicTime) override { return true; }
  bool has_pending_work() const override { return false; }
  int work_fd() const override { return -1; }
  int PrepareWrite(std::span<ConstBuffer> from) override {
    if (unsent_ == 0) return 0;
    from[0] = ConstBuffer(answer_, unsent_);
    return 1;
  }
  void OnWritten(size_t bytes) override { unsent_ -= bytes; }
  bool wants_write() const override { return unsent_ > 0; }
  MonotonicTime NextDeadline() const override { return deadline_; }
  void OnTimer(MonotonicTime) override {}
  bool wants_close() const override { return false; }
  bool flush_before_close() const override { return false; }
  void OnClosed(CloseReason, int, MonotonicTime) override { closed_ = true; }
  bool finished() const override { return closed_; }
  std::string Describe() const override { return "answer"; }

 private:
  std::byte answer_[kRequestBytes] = {};
  size_t unsent_ = 0;
  MonotonicTime deadline_ = kInfiniteFuture;
  bool closed_ = false;
};

void RunTurns(benchmark::State& state, const ReactorOptions& options) {
  const int fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
  {
    std::unique_ptr<Reactor> reactor = *Reactor::Create(options);
    reactor->Add(std::make_unique<StreamConnection<ReadyStream>>(ReadyStream(fd),
                                                                 std::make_unique<AnswerEngine>()));
    // What Run() does, until the benchmark has seen enough.
    for (auto _ : state) reactor->RunOnce(kNanosecondsPerSecond);
  }
  close(fd);
}

void BM_EventDrivenTurn(benchmark::State& state) { RunTurns(state, {}); }
BENCHMARK(BM_EventDrivenTurn);

void BM_BusyPollTurn(benchmark::State& state) { RunTurns(state, {.busy_poll = true}); }
BENCHMARK(BM_BusyPollTurn);

// The floor of the event-driven turn.
void BM_BareEpollWait(benchmark::State& state) {
  const int fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  for (auto _ : state) benchmark::DoNotOptimize(epoll_wait(epoll, &event, 1, 1000));
  close(epoll);
  close(fd);
}
BENCHMARK(BM_BareEpollWait);

void BM_MonotonicNow(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(MonotonicNow());
}
BENCHMARK(BM_MonotonicNow);

}  // namespace
}  // namespace vof
