// SPDX-License-Identifier: Apache-2.0
#include "tools/config/text_proto.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <limits>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace vof {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::DescriptorPool;

// The text between the first `before` and the `after` that follows it.
std::optional<std::string> Between(const std::string& text, const std::string& before,
                                   const std::string& after) {
  const size_t start = text.find(before);
  if (start == std::string::npos) return std::nullopt;
  const size_t from = start + before.size();
  const size_t end = text.find(after, from);
  if (end == std::string::npos) return std::nullopt;
  return text.substr(from, end - from);
}

std::string KnownFields(const Descriptor& type) {
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(type.field_count()));
  for (int i = 0; i < type.field_count(); ++i) names.emplace_back(type.field(i)->name());
  return absl::StrJoin(names, ", ");
}

// The name under which a block of this type is written: "file" for FileStore.
std::string BlockName(const Descriptor& type) {
  const google::protobuf::FileDescriptor& file = *type.file();
  for (int m = 0; m < file.message_type_count(); ++m) {
    for (int f = 0; f < file.message_type(m)->field_count(); ++f) {
      const google::protobuf::FieldDescriptor& field = *file.message_type(m)->field(f);
      if (field.message_type() == &type) return std::string(field.name());
    }
  }
  return std::string(type.name());
}

// Protobuf's message in the terms of the person who wrote the file.
std::string Explain(const std::string& message, const Descriptor& root) {
  const auto type_name = Between(message, "Message type \"", "\"");
  const auto field = Between(message, "has no field named \"", "\"");
  if (type_name && field) {
    const Descriptor* const type = root.file()->pool()->FindMessageTypeByName(*type_name);
    if (type != nullptr) {
      const std::string block = type == &root ? "" : absl::StrCat(" in ", BlockName(*type));
      return absl::StrCat("unknown field \"", *field, "\"", block, "; known: ", KnownFields(*type));
    }
  }
  // The token at the end of a text is empty.
  if (absl::EndsWith(message, "got: ") || absl::EndsWith(message, "found \"\".")) {
    return "the file ends inside a block or a value: is a closing brace missing?";
  }
  if (absl::StartsWith(message, "Expected string, got:")) {
    return absl::StrCat(message, " (texts and sizes are written in quotes)");
  }
  if (absl::StartsWith(message, "Invalid value for boolean field") ||
      absl::StartsWith(message, "Expected identifier, got: \"")) {
    return absl::StrCat(message, " (write true or false, without quotes)");
  }
  if (absl::StartsWith(message, "Need space between number and identifier")) {
    return absl::StrCat(message, " (sizes are written in quotes, as \"64M\")");
  }
  return message;
}

// The line with this number.
std::string_view LineOf(std::string_view text, int line) {
  for (; line > 0; --line) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return "";
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

// The parser reports an unknown field at the token behind its name. Columns count a tab to the next
// multiple of 8, as the tokenizer does; the answer is `column` itself when the name is not before
// it on this line.
int ColumnOfName(std::string_view text, int line, int column, const std::string& name) {
  const std::string_view in_line = LineOf(text, line);
  int found = column;
  int at = 0;
  for (size_t i = 0; i < in_line.size() && at < column; ++i) {
    if (in_line.substr(i, name.size()) == name) found = at;
    at = in_line[i] == '\t' ? (at / 8 + 1) * 8 : at + 1;
  }
  return found;
}

// "; queues is a whole number from 1 to 256", when the number that is wrong is the value of such a
// field. The one place is taken that names it before `column`, nearest to it.
std::string RangeHint(std::string_view text, int line, int column, const std::string& message,
                      std::span<const FieldRange> ranges) {
  if (!absl::StartsWith(message, "Expected integer") && !absl::StartsWith(message, "Integer out")) {
    return "";
  }
  std::string_view before = LineOf(text, line).substr(0, static_cast<size_t>(column));
  const size_t colon = before.rfind(':');
  if (colon == std::string_view::npos) return "";
  before = before.substr(0, colon);
  while (!before.empty() && before.back() == ' ') before.remove_suffix(1);
  before = before.substr(before.find_last_not_of("abcdefghijklmnopqrstuvwxyz_") + 1);
  for (const FieldRange& range : ranges) {
    if (range.field != before) continue;
    return absl::StrCat("; ", std::string(range.field), " is a whole number from ", range.least,
                        " to ", range.most);
  }
  return "";
}

class Collector final : public google::protobuf::io::ErrorCollector {
 public:
  Collector(std::string_view text, const std::string& file_name, const Descriptor& root,
            std::span<const FieldRange> ranges)
      : text_(text), file_name_(file_name), root_(root), ranges_(ranges) {}

  void AddError(int line, int column, const std::string& message) override {
    const auto unknown = Between(message, "has no field named \"", "\"");
    if (unknown) column = ColumnOfName(text_, line, column, *unknown);
    errors_.push_back({FormatPlace(file_name_, line, column),
                       Explain(message, root_) + RangeHint(text_, line, column, message, ranges_)});
  }
  // Warnings are about constructs that will stop working: a strict reader takes them for errors.
  void AddWarning(int line, int column, const std::string& message) override {
    AddError(line, column, message);
  }
  SettingErrors TakeErrors() { return std::move(errors_); }

 private:
  const std::string_view text_;
  const std::string& file_name_;
  const Descriptor& root_;
  const std::span<const FieldRange> ranges_;
  SettingErrors errors_;
};

}  // namespace

std::string FormatPlace(const std::string& file_name, int line, int column) {
  if (line < 0) return file_name;
  return absl::StrCat(file_name, ":", line + 1, ":", column + 1);
}

SettingErrors ParseTextProto(std::string_view text, const std::string& file_name,
                             google::protobuf::Message* message,
                             google::protobuf::TextFormat::ParseInfoTree* places,
                             std::span<const FieldRange> ranges) {
  if (text.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return {{file_name, "is larger than 2 GiB"}};
  }
  Collector collector(text, file_name, *message->GetDescriptor(), ranges);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  parser.WriteLocationsTo(places);
  google::protobuf::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  const bool parsed = parser.Parse(&input, message);
  SettingErrors errors = collector.TakeErrors();
  if (!parsed && errors.empty()) errors.push_back({file_name, "cannot be parsed"});
  return errors;
}

}  // namespace vof
