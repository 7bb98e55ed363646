// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "tools/common/size.h"
#include "tools/config/config_file.h"
#include "tools/config/cpu_list.h"
#include "tools/config/target.pb.h"
#include "tools/config/text_proto.h"

namespace vof {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::TextFormat;

// A message together with the positions of its fields.
class Block {
 public:
  Block(const Message& message, const TextFormat::ParseInfoTree* places,
        const std::string& file_name)
      : message_(message), places_(places), file_name_(file_name) {}

  // The position of a field's name; `index` counts within a repeated field.
  std::string Where(const std::string& field_name, int index = 0) const {
    const FieldDescriptor* const field = message_.GetDescriptor()->FindFieldByName(field_name);
    if (field == nullptr || places_ == nullptr) return file_name_;
    const auto place = places_->GetLocation(field, field->is_repeated() ? index : -1);
    return FormatPlace(file_name_, place.line, place.column);
  }

  Block Nested(const Message& nested, const std::string& field_name, int index = 0) const {
    const FieldDescriptor* const field = message_.GetDescriptor()->FindFieldByName(field_name);
    const TextFormat::ParseInfoTree* places = nullptr;
    if (field != nullptr && places_ != nullptr) {
      places = places_->GetTreeForNested(field, field->is_repeated() ? index : -1);
    }
    return Block(nested, places, file_name_);
  }

  const Message& message() const { return message_; }

 private:
  const Message& message_;
  const TextFormat::ParseInfoTree* places_;
  const std::string& file_name_;
};

// The text of a scalar field, as it would stand on the command line.
std::string ScalarText(const Message& message, const FieldDescriptor& field) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrCat(reflection.GetUInt32(message, &field));
    default:
      return reflection.GetString(message, &field);
  }
}

// A block's scalar fields become options of their own names; a nested block is a choice: its name
// becomes the value of the option named by its oneof ("store"), and its fields join the others.
void AddFieldsAsOptions(const Block& block, DeviceConfig* device) {
  std::vector<const FieldDescriptor*> fields;
  block.message().GetReflection()->ListFields(block.message(), &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string name(field->name());
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      device->AddOption(name, ScalarText(block.message(), *field), block.Where(name));
      continue;
    }
    const Message& nested = block.message().GetReflection()->GetMessage(block.message(), field);
    device->AddOption(std::string(field->containing_oneof()->name()), name, block.Where(name));
    AddFieldsAsOptions(block.Nested(nested, name), device);
  }
}

void ReadDevice(const config::Device& device, const Block& block, const std::string& where,
                TargetConfig* config) {
  DeviceConfig to;
  to.where = where;
  to.name = {device.name(), device.name().empty() ? where : block.Where("name")};
  if (device.has_blk()) {
    to.type = "blk";
    AddFieldsAsOptions(block.Nested(device.blk(), "blk"), &to);
  } else if (device.has_other()) {
    to.type = device.other().type();
    const Block other = block.Nested(device.other(), "other");
    for (int i = 0; i < device.other().option_size(); ++i) {
      const config::Option& option = device.other().option(i);
      to.AddOption(option.key(), option.value(), other.Where("option", i));
    }
  }
  config->devices.push_back(std::move(to));
}

void ReadReactors(const config::Reactors& reactors, const Block& block, TargetConfig* config) {
  if (reactors.has_count()) config->reactors = {reactors.count(), block.Where("count")};
  if (reactors.has_busy_poll()) {
    config->busy_poll = {reactors.busy_poll(), block.Where("busy_poll")};
  }
  if (reactors.has_spin_us()) config->spin_us = {reactors.spin_us(), block.Where("spin_us")};
  if (!reactors.has_cpus()) return;
  auto cpus = ParseCpuList(reactors.cpus());
  if (!cpus.ok()) {
    config->unreadable.push_back({block.Where("cpus"), std::string(cpus.status().message())});
    return;
  }
  config->cpus = {*std::move(cpus), block.Where("cpus")};
}

void ReadLimits(const config::Limits& limits, const Block& block, TargetConfig* config) {
  if (limits.has_sessions()) config->sessions = {limits.sessions(), block.Where("sessions")};
  if (limits.has_queues_per_session()) {
    config->queues_per_session = {limits.queues_per_session(), block.Where("queues_per_session")};
  }
  if (limits.has_connections()) {
    config->connections = {limits.connections(), block.Where("connections")};
  }
  if (limits.has_handshake_timeout_ms()) {
    config->handshake_timeout_ms = {limits.handshake_timeout_ms(),
                                    block.Where("handshake_timeout_ms")};
  }
  if (limits.has_drain_timeout_ms()) {
    config->drain_timeout_ms = {limits.drain_timeout_ms(), block.Where("drain_timeout_ms")};
  }
  if (limits.has_reactor_timeout_ms()) {
    config->reactor_timeout_ms = {limits.reactor_timeout_ms(), block.Where("reactor_timeout_ms")};
  }
  const auto read_size = [&](const char* field, const std::string& text, Setting<uint64_t>* to) {
    const auto size = ParseSize(text);
    if (size.ok()) {
      *to = {*size, block.Where(field)};
    } else {
      config->unreadable.push_back({block.Where(field), std::string(size.status().message())});
    }
  };
  if (limits.has_pool_size()) read_size("pool_size", limits.pool_size(), &config->pool_bytes);
  if (limits.has_registered_size()) {
    read_size("registered_size", limits.registered_size(), &config->registered_bytes);
  }
  if (limits.has_inline_size()) {
    read_size("inline_size", limits.inline_size(), &config->inline_bytes);
  }
}

void ReadTarget(const config::Target& target, const Block& block, TargetConfig* config) {
  for (int i = 0; i < target.plugin_size(); ++i) {
    config->plugins.push_back({target.plugin(i).path(), block.Where("plugin", i)});
  }
  for (int i = 0; i < target.listener_size(); ++i) {
    const Block listener = block.Nested(target.listener(i), "listener", i);
    const std::string& uri = target.listener(i).uri();
    config->listeners.push_back(
        {uri, uri.empty() ? block.Where("listener", i) : listener.Where("uri")});
  }
  for (int i = 0; i < target.device_size(); ++i) {
    ReadDevice(target.device(i), block.Nested(target.device(i), "device", i),
               block.Where("device", i), config);
  }
  ReadReactors(target.reactors(), block.Nested(target.reactors(), "reactors"), config);
  ReadLimits(target.limits(), block.Nested(target.limits(), "limits"), config);
  if (target.log().has_level()) {
    config->log_level = {target.log().level(), block.Nested(target.log(), "log").Where("level")};
  }
}

constexpr FieldRange kRanges[] = {
    {"count", 1, kMaxTargetReactors},       {"spin_us", 0, kMaxSpinUs},
    {"sessions", 1, kMaxInstances},         {"queues_per_session", 1, kMaxQueuesPerInstance},
    {"connections", 1, kMaxConnections},    {"handshake_timeout_ms", 1, kMaxTimeoutMs},
    {"drain_timeout_ms", 0, kMaxTimeoutMs}, {"reactor_timeout_ms", 0, kMaxTimeoutMs},
    {"queues", 1, kMaxQueuesPerInstance},   {"queue_size", 1, kMaxQueueSize},
};

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

std::string FormatSettingError(const SettingError& error) {
  return error.where.empty() ? error.message : absl::StrCat(error.where, ": ", error.message);
}

std::vector<std::string> FormatSettingErrors(const SettingErrors& errors) {
  std::vector<std::string> lines;
  for (const SettingError& error : errors) lines.push_back(FormatSettingError(error));
  return lines;
}

SettingErrors ReadConfigText(std::string_view text, const std::string& file_name,
                             TargetConfig* config) {
  // Some editors begin every file with it.
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  config::Target target;
  TextFormat::ParseInfoTree places;
  SettingErrors errors = ParseTextProto(text, file_name, &target, &places, kRanges);
  if (errors.empty()) ReadTarget(target, Block(target, &places, file_name), config);
  return errors;
}

SettingErrors ReadConfigFile(const std::string& path, TargetConfig* config) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "re"));
  if (file == nullptr) return {{path, absl::StrCat("cannot open: ", std::strerror(errno))}};
  std::string text(kMaxConfigFileBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get())) return {{path, absl::StrCat("cannot read: ", std::strerror(errno))}};
  if (text.size() > kMaxConfigFileBytes) {
    return {{path, absl::StrCat("is larger than ", FormatSize(kMaxConfigFileBytes),
                                ": not a configuration")}};
  }
  return ReadConfigText(text, path, config);
}

}  // namespace vof
