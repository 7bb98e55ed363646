// SPDX-License-Identifier: Apache-2.0
//
// Protobuf text format with errors for people: positions, and the fields that would have been
// right.
//
//   config::Target message;
//   TextFormat::ParseInfoTree places;
//   SettingErrors errors = ParseTextProto(text, "target.conf", &message, &places);
#ifndef VOF_TOOLS_CONFIG_TEXT_PROTO_H_
#define VOF_TOOLS_CONFIG_TEXT_PROTO_H_

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tools/config/target_config.h"

namespace vof {

// "FILE:LINE:COLUMN", from positions counted from 0; FILE alone when `line` is negative.
std::string FormatPlace(const std::string& file_name, int line, int column);

// What the numbers of a field may be, for errors of the parser: they are read before they are
// checked.
struct FieldRange {
  std::string_view field;
  uint32_t least = 0;
  uint32_t most = 0;
};

// Fills `message` and the positions of its fields. Errors in the order of the text; the parser
// stops at the first one that it cannot read past.
SettingErrors ParseTextProto(std::string_view text, const std::string& file_name,
                             google::protobuf::Message* message,
                             google::protobuf::TextFormat::ParseInfoTree* places,
                             std::span<const FieldRange> ranges = {});

}  // namespace vof

#endif  // VOF_TOOLS_CONFIG_TEXT_PROTO_H_
