// SPDX-License-Identifier: Apache-2.0
//
// SIGINT and SIGTERM as a request to stop in good order.
//
//   InterruptWatch interrupt;                  // from here on; before it, a signal ends the
//   program while (!interrupt.requested()) ...
//
// The first signal sets the flag, the second ends the program at once with exit code 1: nobody has
// to wait for a target that does not answer. One object at a time.
#ifndef VOF_TOOLS_VOF_SHELL_INTERRUPT_H_
#define VOF_TOOLS_VOF_SHELL_INTERRUPT_H_

#include <signal.h>

namespace vof {

class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  // Any thread.
  bool requested() const;

 private:
  struct sigaction previous_interrupt_;
  struct sigaction previous_terminate_;
};

}  // namespace vof

#endif  // VOF_TOOLS_VOF_SHELL_INTERRUPT_H_
