// SPDX-License-Identifier: Apache-2.0
#include "tools/config/config_check.h"

#include <cstddef>
#include <map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/limits.h"
#include "core/runtime/uri.h"
#include "core/wire/utf8.h"
#include "tools/common/logging.h"
#include "tools/common/size.h"

namespace vof {
namespace {

// Answers lists of devices in a coming version of the protocol.
constexpr std::string_view kDiscoveryName = "vqn.discovery";

void CheckRange(const Setting<uint32_t>& setting, std::string_view name, uint32_t least,
                uint32_t most, SettingErrors* errors) {
  if (setting.value >= least && setting.value <= most) return;
  errors->push_back({setting.where, absl::StrCat(std::string(name), " is ", setting.value,
                                                 "; it must be between ", least, " and ", most)});
}

void CheckListener(const Setting<std::string>& listener, const BackendRegistry& backends,
                   SettingErrors* errors) {
  const auto add = [&](std::string message) {
    errors->push_back({listener.where, std::move(message)});
  };
  if (listener.value.empty()) {
    return add("a listener needs a uri, for example \"tcp://0.0.0.0:8549\"");
  }
  absl::StatusOr<Uri> uri = ParseListenerUri(listener.value);
  if (!uri.ok()) {
    add(std::string(uri.status().message()));
    // What is before the keys may be wrong as well.
    uri = ParseListenerUri(listener.value.substr(0, listener.value.find('?')));
    if (!uri.ok()) return;
  }
  const absl::StatusOr<Backend*> backend = backends.Find(uri->scheme);
  if (!backend.ok()) return add(std::string(backend.status().message()));
  if (!uri->name.empty()) {
    add(absl::StrCat("\"", listener.value, "\" names a device (\"", uri->name,
                     "\"): a listener serves every device; leave it out"));
  }
}

std::string NameProblem(const std::string& name) {
  if (name.empty()) return "a device needs a name";
  if (name.size() > kVqnFieldBytes - 1) {
    return absl::StrCat("the device name has ", name.size(), " bytes; at most ", kVqnFieldBytes - 1,
                        " are possible");
  }
  if (name.find('\0') != std::string::npos) return "the device name has a zero byte in it";
  if (!IsUtf8(name)) return "the device name is not UTF-8";
  if (name == kDiscoveryName) {
    return absl::StrCat("the name \"", name, "\" is reserved by the protocol");
  }
  return "";
}

std::string OptionMessage(const DeviceOptionProblem& problem) {
  const bool names_key = problem.key.empty() || problem.message.find(absl::StrCat(
                                                    "\"", problem.key, "\"")) != std::string::npos;
  return names_key ? problem.message : absl::StrCat(problem.key, ": ", problem.message);
}

// A factory tells one problem at a time: what is wrong with an option is reported, then the others
// are checked without it. That the device as a whole then lacks something is no error of its own.
void CheckOptions(const DeviceConfig& device, const DeviceFactory& factory, SettingErrors* errors) {
  DeviceOptionList options = device.options;
  std::vector<std::string> where = device.option_where;
  for (bool is_whole = true;; is_whole = false) {
    const auto problem = CheckDeviceOptions(factory, options);
    if (!problem) return;
    // The last one: when an option is given twice, that is the one too many.
    size_t at = options.size();
    for (size_t i = 0; i < options.size(); ++i) {
      if (options[i].key == problem->key) at = i;
    }
    const bool is_known = at < options.size();
    if (is_known || is_whole) {
      errors->push_back({is_known ? where[at] : device.where, OptionMessage(*problem)});
    }
    if (!is_known) return;
    options.erase(options.begin() + static_cast<std::ptrdiff_t>(at));
    where.erase(where.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

void CheckDevice(const DeviceConfig& device, const DeviceFactoryRegistry& factories,
                 KnownTypes known, SettingErrors* errors) {
  if (const std::string problem = NameProblem(device.name.value); !problem.empty()) {
    errors->push_back({device.name.where, problem});
  }
  if (device.type.empty()) {
    errors->push_back(
        {device.where, "a device needs a type: a blk { } or an other { type: } block"});
    return;
  }
  const auto factory = factories.Find(device.type);
  if (factory.ok()) {
    CheckOptions(device, **factory, errors);
  } else if (known == KnownTypes::kAll) {
    errors->push_back({device.where, std::string(factory.status().message())});
  }
}

// Two listeners on one address: the second would find the port in use, by the first.
void CheckSameAddresses(const TargetConfig& config, SettingErrors* errors) {
  std::map<std::string, const Setting<std::string>*> places;
  for (const Setting<std::string>& listener : config.listeners) {
    const absl::StatusOr<Uri> uri = ParseListenerUri(listener.value);
    if (!uri.ok() || (uri->port == 0 && uri->scheme != "loop")) continue;
    const std::string place =
        absl::StrCat(uri->scheme, "://", absl::AsciiStrToLower(uri->host), " ", uri->port);
    const auto [first, added] = places.try_emplace(place, &listener);
    if (added) continue;
    errors->push_back({listener.where,
                       absl::StrCat("\"", listener.value, "\" is the address of another listener (",
                                    first->second->where, "): leave one of them out")});
  }
}

void CheckDuplicates(const TargetConfig& config, SettingErrors* errors) {
  std::map<std::string_view, const Setting<std::string>*> names;
  for (const DeviceConfig& device : config.devices) {
    const auto [first, added] = names.try_emplace(device.name.value, &device.name);
    if (added || device.name.value.empty()) continue;
    errors->push_back(
        {device.name.where, absl::StrCat("the name \"", device.name.value, "\" is taken already (",
                                         first->second->where, ")")});
  }
}

void CheckReactors(const TargetConfig& config, SettingErrors* errors) {
  if (config.reactors)
    CheckRange(*config.reactors, "the number of reactors", 1, kMaxTargetReactors, errors);
  if (config.spin_us) {
    CheckRange(*config.spin_us, "spin_us", 0, kMaxSpinUs, errors);
    if (config.busy_poll.value && config.spin_us->value != 0) {
      errors->push_back({config.spin_us->where,
                         "spin_us has no meaning with busy_poll, which never sleeps: choose one"});
    }
  }
  if (!config.cpus) return;
  const size_t num_cpus = config.cpus->value.size();
  if (config.reactors && num_cpus != config.reactors->value) {
    errors->push_back(
        {config.cpus->where,
         absl::StrCat("cpus lists ", num_cpus, " for ", config.reactors->value,
                      " reactors: name one for each, or leave the number of reactors out")});
  }
  if (num_cpus > kMaxTargetReactors) {
    errors->push_back(
        {config.cpus->where, absl::StrCat("cpus lists ", num_cpus, "; at most ", kMaxTargetReactors,
                                          " reactors are possible")});
  }
}

void CheckMostBytes(const Setting<uint64_t>& size, const char* name, uint64_t most_bytes,
                    SettingErrors* errors) {
  if (size.value <= most_bytes) return;
  errors->push_back(
      {size.where, absl::StrCat(name, " is ", ExactSize(size.value), "; it must be between 0 and ",
                                ExactSize(most_bytes))});
}

void CheckLimits(const TargetConfig& config, SettingErrors* errors) {
  CheckRange(config.sessions, "sessions", 1, kMaxInstances, errors);
  CheckRange(config.queues_per_session, "queues_per_session", 1, kMaxQueuesPerInstance, errors);
  CheckRange(config.connections, "connections", 1, kMaxConnections, errors);
  CheckRange(config.handshake_timeout_ms, "handshake_timeout_ms", 1, kMaxTimeoutMs, errors);
  CheckRange(config.drain_timeout_ms, "drain_timeout_ms", 0, kMaxTimeoutMs, errors);
  if (config.reactor_timeout_ms.value != 0) {
    CheckRange(config.reactor_timeout_ms, "reactor_timeout_ms", kMinReactorTimeoutMs, kMaxTimeoutMs,
               errors);
  }
  constexpr uint64_t kMaxPoolBytes = uint64_t{1} << 40;
  if (config.pool_bytes.value < kMinPoolBytes || config.pool_bytes.value > kMaxPoolBytes) {
    errors->push_back(
        {config.pool_bytes.where,
         absl::StrCat("the pool of a reactor is ", ExactSize(config.pool_bytes.value),
                      "; it must be between ", FormatSize(kMinPoolBytes),
                      " (room for the largest requests) and ", FormatSize(kMaxPoolBytes))});
  }
  constexpr uint64_t kMaxRegisteredBytes = uint64_t{1} << 46;
  CheckMostBytes(config.registered_bytes, "registered_size", kMaxRegisteredBytes, errors);
  CheckMostBytes(config.inline_bytes, "inline_size", kDefaultInlineBytes, errors);
}

}  // namespace

SettingErrors CheckTargetConfig(const TargetConfig& config, const BackendRegistry& backends,
                                const DeviceFactoryRegistry& factories, KnownTypes known) {
  SettingErrors errors = config.unreadable;
  if (config.listeners.empty()) {
    errors.push_back(
        {"", "there is no listener: give --listen URI, or listener { uri: } in the file"});
  }
  if (config.devices.empty() && !config.has_unreadable_device) {
    errors.push_back({"", "there is no device: give --blk OPTIONS, or device { } in the file"});
  }
  for (const auto& listener : config.listeners) CheckListener(listener, backends, &errors);
  for (const DeviceConfig& device : config.devices) CheckDevice(device, factories, known, &errors);
  CheckDuplicates(config, &errors);
  CheckSameAddresses(config, &errors);
  CheckReactors(config, &errors);
  CheckLimits(config, &errors);
  if (const absl::Status level = CheckLogLevel(config.log_level.value); !level.ok()) {
    errors.push_back({config.log_level.where, std::string(level.message())});
  }
  return errors;
}

}  // namespace vof
