// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/reactor_thread.h"

#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>

namespace vof {

absl::StatusOr<std::unique_ptr<ReactorThread>> ReactorThread::Start(const ReactorOptions& options) {
  absl::StatusOr<std::unique_ptr<Reactor>> reactor = Reactor::Create(options);
  if (!reactor.ok()) return reactor.status();
  return std::unique_ptr<ReactorThread>(new ReactorThread(*std::move(reactor)));
}

ReactorThread::ReactorThread(std::unique_ptr<Reactor> reactor) : reactor_(std::move(reactor)) {
  thread_ = std::thread([this] {
    // The kernel takes 15 characters.
    const std::string name = reactor_->options().name.substr(0, 15);
    pthread_setname_np(pthread_self(), name.c_str());
    reactor_->Run();
  });
}

ReactorThread::~ReactorThread() { Stop(); }

void ReactorThread::RunAndWait(const std::function<void()>& work) {
  std::mutex mutex;
  std::condition_variable finished;
  bool done = false;
  reactor_->Post([&] {
    work();
    // Under the lock to the end: the waiter destroys both as soon as it sees `done`.
    const std::lock_guard<std::mutex> lock(mutex);
    done = true;
    finished.notify_one();
  });
  std::unique_lock<std::mutex> lock(mutex);
  finished.wait(lock, [&] { return done; });
}

void ReactorThread::Stop() {
  if (!thread_.joinable()) return;
  reactor_->Stop();
  thread_.join();
}

}  // namespace vof
