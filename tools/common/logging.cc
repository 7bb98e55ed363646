// SPDX-License-Identifier: Apache-2.0
#include "tools/common/logging.h"

#include <spdlog/details/os.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/quoted.h"
#include "core/base/time.h"
#include "tools/common/standard_error.h"

namespace vof {
namespace {

struct NamedLevel {
  std::string_view name;
  spdlog::level::level_enum level;
  std::string_view color;  // on a terminal
};

constexpr std::array<NamedLevel, 6> kLevels = {{{"trace", spdlog::level::trace, "\033[37m"},
                                                {"debug", spdlog::level::debug, "\033[36m"},
                                                {"info", spdlog::level::info, "\033[32m"},
                                                {"warn", spdlog::level::warn, "\033[33m\033[1m"},
                                                {"error", spdlog::level::err, "\033[31m\033[1m"},
                                                {"off", spdlog::level::off, ""}}};
constexpr std::string_view kNoColor = "\033[m";
// A person who waits for the reason reads it within that time; a reader that hangs is not waited
// for any longer.
constexpr Nanoseconds kPatience = kNanosecondsPerSecond;

std::string_view ColorOf(spdlog::level::level_enum level) {
  for (const NamedLevel& known : kLevels) {
    if (known.level == level) return known.color;
  }
  return "";
}

// spdlog's own sinks wait for the reader of standard error, and with them the reactor that has
// something to tell. This one drops the line, and tells later how many it dropped.
class NeverWaitingSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  NeverWaitingSink()
      : has_colors_(spdlog::details::os::in_terminal(stderr) &&
                    spdlog::details::os::is_color_terminal()) {}
  NeverWaitingSink(const NeverWaitingSink&) = delete;
  NeverWaitingSink& operator=(const NeverWaitingSink&) = delete;
  // The process ends, and nobody would hand on its last lines.
  ~NeverWaitingSink() override { (void)standard_error_.IsHandedOn(kPatience); }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (lost_ > 0 && Write(spdlog::details::log_msg(message.time, {}, message.logger_name,
                                                    spdlog::level::warn, LostLines()))) {
      lost_ = 0;
    }
    if (lost_ > 0 || !Write(message)) ++lost_;
  }
  void flush_() override {}

 private:
  std::string LostLines() const {
    const int error = standard_error_.error();
    if (error == EAGAIN) return absl::StrCat(lost_, " lines were lost: nobody read standard error");
    return absl::StrCat(lost_, " lines were lost: standard error: ", std::strerror(error));
  }
  bool Write(const spdlog::details::log_msg& message) {
    spdlog::memory_buf_t formatted;
    message.color_range_start = message.color_range_end = 0;
    formatter_->format(message, formatted);
    const std::string_view line(formatted.data(), formatted.size());
    const size_t first = message.color_range_start, last = message.color_range_end;
    if (!has_colors_ || last <= first) return standard_error_.Write(line);
    std::string colored(line.substr(0, first));
    colored.append(ColorOf(message.level)).append(line.substr(first, last - first));
    return standard_error_.Write(colored.append(kNoColor).append(line.substr(last)));
  }

  const bool has_colors_;
  StandardError standard_error_;
  uint64_t lost_ = 0;  // lines, since the last one that was written
};

constexpr size_t kMostErrors = 100;
// The beginning tells the place and what was written there, the end what is wrong with it.
constexpr size_t kMostErrorBytes = 1000, kErrorEndBytes = 250;

bool ContinuesCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// `text` is UTF-8.
std::string Shortened(const std::string& text) {
  if (text.size() <= kMostErrorBytes) return text;
  size_t cut = kMostErrorBytes - kErrorEndBytes, resume = text.size() - kErrorEndBytes;
  while (ContinuesCharacter(text[cut])) --cut;
  while (ContinuesCharacter(text[resume])) ++resume;
  return absl::StrCat(text.substr(0, cut), "...", text.substr(resume), " (", text.size(),
                      " bytes)");
}

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
  auto sink = std::make_shared<NeverWaitingSink>();
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

void PrintErrors(std::string_view program, const std::vector<std::string>& messages) {
  const std::string begin = absl::StrCat(std::string(program), ": error: ");
  std::string text;
  for (size_t i = 0; i < messages.size() && i < kMostErrors; ++i) {
    absl::StrAppend(&text, begin, Shortened(Printable(messages[i])), "\n");
  }
  if (messages.size() > kMostErrors) {
    absl::StrAppend(&text, begin, "and ", messages.size() - kMostErrors, " more\n");
  }
  (void)StandardError().Write(text, kPatience);
}

void PrintError(std::string_view program, std::string_view message) {
  PrintErrors(program, {std::string(message)});
}

}  // namespace vof
