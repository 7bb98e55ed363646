// SPDX-License-Identifier: Apache-2.0
#include "testing/golden/recording.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace vof {
namespace {

std::optional<Direction> DirectionOf(absl::string_view word) {
  if (word == "I>T") return Direction::kToTarget;
  if (word == "T>I") return Direction::kToInitiator;
  return std::nullopt;
}

bool IsPduHeading(absl::string_view line) {
  return absl::StartsWith(line, "# PDU ") || absl::StartsWith(line, "# msg ");
}

// "# PDU 3 t=+0.003143s T>I 16 bytes", "# msg 3 t=+26.208149s I>T SEND 40 bytes"
bool ParseHeading(absl::string_view line, RecordedPdu& pdu) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  const bool has_message = words.size() == 8;
  if (words.size() != 7 && !has_message) return false;
  const std::optional<Direction> direction = DirectionOf(words[4]);
  if (!direction || words.back() != "bytes") return false;
  pdu.direction = *direction;
  if (has_message) pdu.message = std::string(words[5]);
  return absl::SimpleAtoi(words[2], &pdu.number) &&
         absl::SimpleAtoi(words[words.size() - 2], &pdu.size_bytes);
}

bool IsHex(absl::string_view text) {
  for (char c : text) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) return false;
  }
  return text.size() % 2 == 0;
}

// "T>I 0000...", "I>T SEND 0000...", "I>T ACK": direction, message if any, bytes if any.
bool ParseBytes(absl::string_view line, RecordedPdu& pdu) {
  std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  if (DirectionOf(words[0]) != pdu.direction) return false;
  size_t next = 1;
  if (!pdu.message.empty()) {
    if (words.size() < 2 || words[1] != absl::string_view(pdu.message)) return false;
    next = 2;
  }
  absl::string_view hex = next < words.size() ? words[next] : absl::string_view();
  if (words.size() > next + 1) return false;
  pdu.shortened = absl::ConsumeSuffix(&hex, "...");
  if (!IsHex(hex)) return false;
  const std::string raw = absl::HexStringToBytes(hex);
  for (char c : raw) pdu.bytes.push_back(static_cast<std::byte>(c));
  return pdu.shortened ? pdu.bytes.size() < pdu.size_bytes : pdu.bytes.size() == pdu.size_bytes;
}

absl::Status BadLine(int line_number, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line_number, ": ", what));
}

}  // namespace

absl::StatusOr<Recording> ParseRecording(std::string_view text) {
  Recording recording;
  std::optional<RecordedPdu> open;
  int line_number = 0;
  for (absl::string_view line : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++line_number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    if (IsPduHeading(line)) {
      if (open) return BadLine(line_number, "the PDU before this heading has no bytes");
      open.emplace();
      if (!ParseHeading(line, *open)) return BadLine(line_number, "not a PDU heading");
    } else if (line[0] == '#') {
      if (!open) continue;  // about the file
      line.remove_prefix(1);
      open->notes.emplace_back(absl::StripLeadingAsciiWhitespace(line));
    } else {
      if (!open) return BadLine(line_number, "bytes without a heading");
      if (!ParseBytes(line, *open)) return BadLine(line_number, "bytes do not fit the heading");
      recording.pdus.push_back(*std::exchange(open, std::nullopt));
    }
  }
  if (open) return BadLine(line_number, "the last PDU has no bytes");
  return recording;
}

absl::StatusOr<Recording> LoadRecording(std::string_view file_name) {
  std::string path = "testing/golden/";
  const char* runfiles = std::getenv("TEST_SRCDIR");
  const char* workspace = std::getenv("TEST_WORKSPACE");
  if (runfiles != nullptr && workspace != nullptr) {
    path = absl::StrCat(runfiles, "/", workspace, "/", path);
  }
  path.append(file_name);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read the recording ", path));
  absl::StatusOr<Recording> recording = ParseRecording(text.str());
  if (recording.ok()) return recording;
  return absl::InvalidArgumentError(absl::StrCat(path, ", ", recording.status().message()));
}

std::optional<uint64_t> Fact(std::string_view note, std::string_view key) {
  const std::string pattern = std::string(key) + "=";
  for (size_t at = note.find(pattern); at != std::string_view::npos;
       at = note.find(pattern, at + 1)) {
    // "id=" must not be found inside "command_id=".
    const char before = at == 0 ? ' ' : note[at - 1];
    if (before != ' ' && before != ']') continue;
    const std::string digits(note.substr(at + pattern.size()));
    char* end = nullptr;
    const uint64_t value = std::strtoull(digits.c_str(), &end, 0);
    if (end != digits.c_str()) return value;
  }
  return std::nullopt;
}

}  // namespace vof
