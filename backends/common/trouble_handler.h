// SPDX-License-Identifier: Apache-2.0
//
// How a listener tells what it cannot return: nobody called it.
//
//   RegisterTcp(registry, {}, [](std::string_view line) { Log(line); });
#ifndef VOF_BACKENDS_COMMON_TROUBLE_HANDLER_H_
#define VOF_BACKENDS_COMMON_TROUBLE_HANDLER_H_

#include <functional>
#include <string_view>

namespace vof {

// Told in a line for the administrator what keeps a listener from accepting and what to do; the
// first time and then at every attempt, so up to ten times a second: whoever logs it limits it. On
// reactor threads; must not block.
using TroubleHandler = std::function<void(std::string_view line)>;

}  // namespace vof

#endif  // VOF_BACKENDS_COMMON_TROUBLE_HANDLER_H_
