// SPDX-License-Identifier: Apache-2.0
//
// A flag of a verb as data: its names, its help, where its value goes. Which library parses the
// command line is known to command_line.cc only.
//
//   .flags = {Argument("URI", &options->uri, "the device"),
//             SizeFlag("--offset", &options->offset_bytes, "where to begin (default: 0)"),
//             CountFlag("--count,-c", {1, 100}, &options->count, "rounds (default: 4)"),
//             Switch("--pad", &options->pad, "fill the last block with zeros")}
//
// What the pointers point to outlives the flag; a flag that is not given leaves it alone.
#ifndef VOF_TOOLS_VOF_SHELL_FLAG_H_
#define VOF_TOOLS_VOF_SHELL_FLAG_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "core/base/time.h"

namespace vof {

struct Flag {
  std::string names;       // "--count,-c"; an argument, which has a place instead, is "URI"
  std::string value_name;  // what the help calls the value: "SIZE"
  std::string help;
  // Takes the value as it was typed. kInvalidArgument says what was expected.
  std::function<absl::Status(const std::string& text)> set;
  bool* on = nullptr;     // a switch sets this and has no value
  bool required = false;  // arguments are
};

// An empty text is wrong usage, of an argument too.
Flag Argument(std::string name, std::string* value, std::string help);
Flag Switch(std::string names, bool* on, std::string help);
Flag TextFlag(std::string names, std::string value_name, std::string* value, std::string help);
Flag SizeFlag(std::string names, uint64_t* value, std::string help);
Flag SizeFlag(std::string names, std::optional<uint64_t>* value, std::string help);
Flag DurationFlag(std::string names, Nanoseconds* value, std::string help);

struct CountRange {
  uint64_t smallest = 0;
  uint64_t largest = UINT64_MAX;
};
Flag CountFlag(std::string names, const CountRange& range, uint64_t* value, std::string help);
Flag CountFlag(std::string names, const CountRange& range, std::optional<uint64_t>* value,
               std::string help);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_SHELL_FLAG_H_
