// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include "absl/strings/numbers.h"
#include "tools/common/size.h"
#include "tools/config/config_file.h"
#include "tools/config/cpu_list.h"
#include "tools/config/target.pb.h"

namespace vof {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

bool SetScalar(const FieldDescriptor& field, const std::string& text, Message* message) {
  const Reflection& reflection = *message->GetReflection();
  uint32_t number = 0;
  bool flag = false;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      reflection.SetString(message, &field, text);
      return true;
    case FieldDescriptor::CPPTYPE_UINT32:
      if (!absl::SimpleAtoi(text, &number)) return false;
      reflection.SetUInt32(message, &field, number);
      return true;
    case FieldDescriptor::CPPTYPE_BOOL:
      if (!absl::SimpleAtob(text, &flag)) return false;
      reflection.SetBool(message, &field, flag);
      return true;
    default:
      return false;
  }
}

Message* MutableNested(Message* message, const std::string& name) {
  const FieldDescriptor* const field = message->GetDescriptor()->FindFieldByName(name);
  if (field == nullptr || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return nullptr;
  return message->GetReflection()->MutableMessage(message, field);
}

const std::string* FindOption(const DeviceOptionList& options, const std::string& key) {
  for (const DeviceOption& option : options) {
    if (option.key == key) return &option.value;
  }
  return nullptr;
}

// False when an option has no place in the schema: an unknown key, or one of another store.
bool PrintBlk(const DeviceOptionList& options, config::Blk* blk) {
  const std::string* const store = FindOption(options, "store");
  Message* const nested = store == nullptr ? nullptr : MutableNested(blk, *store);
  for (const DeviceOption& option : options) {
    if (option.key == "store") continue;
    Message* holder = blk;
    const FieldDescriptor* field = blk->GetDescriptor()->FindFieldByName(option.key);
    if (field == nullptr && nested != nullptr) {
      holder = nested;
      field = nested->GetDescriptor()->FindFieldByName(option.key);
    }
    if (field == nullptr || !SetScalar(*field, option.value, holder)) return false;
  }
  return nested != nullptr || store == nullptr;
}

void PrintOther(const DeviceConfig& device, config::Other* other) {
  other->set_type(device.type);
  for (const DeviceOption& option : device.options) {
    config::Option* const to = other->add_option();
    to->set_key(option.key);
    to->set_value(option.value);
  }
}

void PrintDevice(const DeviceConfig& device, config::Device* to) {
  to->set_name(device.name.value);
  if (device.type == "blk" && PrintBlk(device.options, to->mutable_blk())) return;
  to->clear_model();
  PrintOther(device, to->mutable_other());
}

}  // namespace

std::string FormatConfig(const TargetConfig& config, uint32_t usable_cpus) {
  config::Target target;
  for (const auto& plugin : config.plugins) target.add_plugin()->set_path(plugin.value);
  for (const auto& listener : config.listeners) target.add_listener()->set_uri(listener.value);
  for (const DeviceConfig& device : config.devices) PrintDevice(device, target.add_device());

  config::Reactors& reactors = *target.mutable_reactors();
  reactors.set_count(config.NumReactors());
  if (config.cpus) reactors.set_cpus(FormatCpuList(config.cpus->value));
  reactors.set_busy_poll(config.busy_poll.value);
  if (!config.busy_poll.value) reactors.set_spin_us(config.SpinUs(usable_cpus));

  config::Limits& limits = *target.mutable_limits();
  limits.set_sessions(config.sessions.value);
  limits.set_queues_per_session(config.queues_per_session.value);
  limits.set_connections(config.connections.value);
  limits.set_pool_size(FormatSize(config.pool_bytes.value));
  limits.set_registered_size(FormatSize(config.registered_bytes.value));
  limits.set_inline_size(FormatSize(config.inline_bytes.value));
  limits.set_handshake_timeout_ms(config.handshake_timeout_ms.value);
  limits.set_drain_timeout_ms(config.drain_timeout_ms.value);
  limits.set_reactor_timeout_ms(config.reactor_timeout_ms.value);
  target.mutable_log()->set_level(config.log_level.value);

  google::protobuf::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  printer.PrintToString(target, &text);
  return text;
}

}  // namespace vof
