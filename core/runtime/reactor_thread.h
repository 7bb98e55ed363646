// SPDX-License-Identifier: Apache-2.0
//
// A reactor with the thread that runs it, for programs and libraries that need one.
//
//   auto thread = ReactorThread::Start({.name = "target-0", .cpu = 0});
//   (*thread)->RunAndWait([&] { (*thread)->reactor()->Add(std::move(connection)); });
//
// Control path: RunAndWait blocks the caller, and must not be called on the reactor's own thread.
#ifndef VOF_CORE_RUNTIME_REACTOR_THREAD_H_
#define VOF_CORE_RUNTIME_REACTOR_THREAD_H_

#include <functional>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "core/runtime/reactor.h"

namespace vof {

class ReactorThread {
 public:
  static absl::StatusOr<std::unique_ptr<ReactorThread>> Start(const ReactorOptions& options);
  // Stops, joins, and closes what is left.
  ~ReactorThread();

  Reactor* reactor() const { return reactor_.get(); }
  // Runs `work` on the reactor's thread and returns when it is done. Any other thread; before Stop.
  void RunAndWait(const std::function<void()>& work);
  void Stop();  // idempotent

 private:
  explicit ReactorThread(std::unique_ptr<Reactor> reactor);

  std::unique_ptr<Reactor> reactor_;
  std::thread thread_;
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_REACTOR_THREAD_H_
