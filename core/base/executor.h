// SPDX-License-Identifier: Apache-2.0
//
// The one way across threads on the control path: run a function later on the owner of something.
//
//   directory->CloseInstance(id, [executor](...) { ... });   // the callback is posted to
//   `executor`
//
// A reactor is an executor; the simulator has its own, on virtual time.
#ifndef VOF_CORE_BASE_EXECUTOR_H_
#define VOF_CORE_BASE_EXECUTOR_H_

#include <functional>

namespace vof {

class Executor {
 public:
  // Runs `work` later on the executor's thread, never inside this call, in the order of posting.
  // Any thread. After the executor stopped, `work` is destroyed without running.
  virtual void Post(std::function<void()> work) = 0;

 protected:
  ~Executor() = default;
};

}  // namespace vof

#endif  // VOF_CORE_BASE_EXECUTOR_H_
