// SPDX-License-Identifier: Apache-2.0
//
// What a program does first about signals that come instead of an error.
//
//   LetWritesFail();
#ifndef VOF_TOOLS_COMMON_WRITE_SIGNALS_H_
#define VOF_TOOLS_COMMON_WRITE_SIGNALS_H_

#include <signal.h>

namespace vof {

// A reader or peer that goes away (SIGPIPE), or a file that would grow beyond what `ulimit -f`
// allows (SIGXFSZ), makes a write fail; it does not end the process.
inline void LetWritesFail() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

}  // namespace vof

#endif  // VOF_TOOLS_COMMON_WRITE_SIGNALS_H_
