// SPDX-License-Identifier: Apache-2.0
//
// Options as one command-line argument: KEY=VALUE, separated by commas.
//
//   ParseOptionText("name=disk0,store=file,path=/srv/a,,b=c.img")
//     -> {name, "disk0"}, {store, "file"}, {path, "/srv/a,b=c.img"}
//
// A comma inside a value is written twice; '=' inside a value needs nothing, the first one ends the
// key. A key alone means KEY=true. Pure; any thread.
#ifndef VOF_TOOLS_CONFIG_OPTION_TEXT_H_
#define VOF_TOOLS_CONFIG_OPTION_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/device/device_factory.h"

namespace vof {

// kInvalidArgument for an empty argument or an empty key.
absl::StatusOr<DeviceOptionList> ParseOptionText(std::string_view text);

}  // namespace vof

#endif  // VOF_TOOLS_CONFIG_OPTION_TEXT_H_
