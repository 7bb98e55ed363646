// SPDX-License-Identifier: Apache-2.0
#include "tools/common/logging.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <cstdio>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/quoted.h"

namespace vof {
namespace {

struct NamedLevel {
  std::string_view name;
  spdlog::level::level_enum level;
};

constexpr std::array<NamedLevel, 6> kLevels = {{{"trace", spdlog::level::trace},
                                                {"debug", spdlog::level::debug},
                                                {"info", spdlog::level::info},
                                                {"warn", spdlog::level::warn},
                                                {"error", spdlog::level::err},
                                                {"off", spdlog::level::off}}};

}  // namespace

std::string_view KnownLogLevels() { return "trace, debug, info, warn, error, off"; }

absl::Status CheckLogLevel(std::string_view level) {
  for (const NamedLevel& known : kLevels) {
    if (known.name == level) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown log level \"", std::string(level),
                                                 "\"; known: ", std::string(KnownLogLevels())));
}

absl::Status SetUpLogging(const LoggingOptions& options) {
  if (absl::Status status = CheckLogLevel(options.level); !status.ok()) return status;
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  auto logger = std::make_shared<spdlog::logger>(options.program, std::move(sink));
  logger->set_pattern(options.program.empty() ? "%Y-%m-%dT%H:%M:%S.%e%z %^%l%$ %v"
                                              : "%Y-%m-%dT%H:%M:%S.%e%z %n %^%l%$ %v");
  for (const NamedLevel& known : kLevels) {
    if (known.name == options.level) logger->set_level(known.level);
  }
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
  return absl::OkStatus();
}

void PrintError(std::string_view program, std::string_view message) {
  std::fprintf(stderr, "%.*s: error: %s\n", static_cast<int>(program.size()), program.data(),
               Printable(message).c_str());
}

}  // namespace vof
