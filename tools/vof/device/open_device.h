// SPDX-License-Identifier: Apache-2.0
//
// From what the user wrote to a connected device.
//
//   absl::StatusOr<std::unique_ptr<BlkClient>> disk = OpenBlk("tcp://host/disk0", context);
#ifndef VOF_TOOLS_VOF_DEVICE_OPEN_DEVICE_H_
#define VOF_TOOLS_VOF_DEVICE_OPEN_DEVICE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/runtime/client.h"
#include "core/runtime/uri.h"
#include "devices/blk/client/blk_client.h"
#include "tools/vof/shell/verb.h"

namespace vof {

// The URI with the common flags applied. kInvalidArgument: not a URI, one without a name or with a
// port that cannot be connected to, or one that the flags do not fit.
absl::StatusOr<Uri> ResolveUri(const std::string& text, const VerbContext& context);

// kInvalidArgument: both URIs name one device by the same address; `verb` is what that makes no
// sense for ("a copy"). What is no URI, or a wrong one, is OK here. By different addresses
// CheckTwoStores finds it, once both are open.
absl::Status CheckTwoDevices(std::string_view verb, const std::string& a, const std::string& b);

absl::StatusOr<std::unique_ptr<BlkClient>> OpenBlk(const std::string& text, VerbContext* context);
// A device of any type.
absl::StatusOr<std::unique_ptr<DeviceClient>> OpenDevice(const std::string& text,
                                                         VerbContext* context);

// Says when the device has fewer virtqueues, or smaller ones, than its URI asks for; it is used
// with those.
void NoteShortfalls(const DeviceClient& device, Output* output);

// "tcp://192.0.2.7:8549": who answered.
std::string AddressOf(const DeviceClient& device);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_DEVICE_OPEN_DEVICE_H_
