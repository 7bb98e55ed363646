// SPDX-License-Identifier: Apache-2.0
//
// Flags that every verb takes, and flags whose values are sizes, times and counts.
//
//   AddSizeFlag(verb, "--bs", &options->block_bytes, "bytes of one request");
//   AddCountFlag(verb, "--depth", {1, 4096}, &options->depth, "requests in flight");
//
// A bad value is a CLI::ValidationError that says what was expected.
#ifndef VOF_TOOLS_VOF_SHELL_COMMON_FLAGS_H_
#define VOF_TOOLS_VOF_SHELL_COMMON_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "core/base/time.h"
#include "core/runtime/uri.h"

namespace vof {

struct CommonFlags {
  bool json = false;
  bool quiet = false;
  // These stand for the same keys of every URI on the command line and win over them.
  std::optional<std::string> initiator_name;
  std::optional<Nanoseconds> timeout;  // connect_timeout and io_timeout
  std::optional<Dialect> dialect;
};

void AddCommonFlags(CLI::App* verb, CommonFlags* flags);

// Applies the flags to what a URI says.
void ApplyTo(const CommonFlags& flags, UriOptions* options);

CLI::Option* AddSizeFlag(CLI::App* verb, const std::string& names, uint64_t* value,
                         const std::string& help);
CLI::Option* AddSizeFlag(CLI::App* verb, const std::string& names, std::optional<uint64_t>* value,
                         const std::string& help);
CLI::Option* AddDurationFlag(CLI::App* verb, const std::string& names, Nanoseconds* value,
                             const std::string& help);

struct CountRange {
  uint64_t smallest = 0;
  uint64_t largest = UINT64_MAX;
};
CLI::Option* AddCountFlag(CLI::App* verb, const std::string& names, const CountRange& range,
                          uint64_t* value, const std::string& help);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_SHELL_COMMON_FLAGS_H_
