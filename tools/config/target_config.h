// SPDX-License-Identifier: Apache-2.0
//
// What a target shall do, wherever it was written: a configuration file and the command line both
// become this, and everything after it is one path.
//
//   TargetConfig config;
//   config.listeners.push_back({"tcp://127.0.0.1:0", "--listen"});
//   config.devices.push_back({.name = {"mem0", "--blk"}, .type = "blk", ...});
//   SettingErrors errors = CheckTargetConfig(config, backends, factories);
//
// Plain data. Every value remembers where it was written, so that an error found later points
// there.
#ifndef VOF_TOOLS_CONFIG_TARGET_CONFIG_H_
#define VOF_TOOLS_CONFIG_TARGET_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/time.h"
#include "core/device/device_factory.h"

namespace vof {

// A value and its origin: "target.conf:3:9", "--blk", or empty for a default.
template <typename T>
struct Setting {
  T value = {};
  std::string where;
};

// One thing that is wrong; printed as "WHERE: MESSAGE", or MESSAGE alone.
struct SettingError {
  std::string where;
  std::string message;
};
using SettingErrors = std::vector<SettingError>;

std::string FormatSettingError(const SettingError& error);
std::vector<std::string> FormatSettingErrors(const SettingErrors& errors);

struct DeviceConfig {
  Setting<std::string> name;
  std::string type;
  DeviceOptionList options;
  // Where each option was written; parallel to `options`.
  std::vector<std::string> option_where;
  std::string where;

  void AddOption(std::string key, std::string value, std::string origin) {
    options.push_back({std::move(key), std::move(value)});
    option_where.push_back(std::move(origin));
  }
};

inline constexpr uint32_t kMaxTargetReactors = 256;
inline constexpr uint32_t kMaxSpinUs = 1'000'000;
inline constexpr uint32_t kMaxTimeoutMs = 3'600'000;
inline constexpr uint32_t kDefaultDrainTimeoutMs = 10'000;
// A disk behind a network may keep a reactor for long, and come back.
inline constexpr uint32_t kDefaultReactorTimeoutMs = 60'000;
// A busy machine takes the processor away for as long.
inline constexpr uint32_t kMinReactorTimeoutMs = 1000;
// An idle core takes about 25 us to wake, and a peer that answers one request with the next is back
// within about twice that: longer spinning buys little and burns more.
inline constexpr uint32_t kDefaultSpinUs = 50;

struct TargetConfig {
  std::vector<Setting<std::string>> plugins;    // paths
  std::vector<Setting<std::string>> listeners;  // URIs
  std::vector<DeviceConfig> devices;

  std::optional<Setting<uint32_t>> reactors;           // else one, or as many as `cpus`
  std::optional<Setting<std::vector<uint32_t>>> cpus;  // one per reactor; else not pinned
  Setting<bool> busy_poll = {false, ""};
  std::optional<Setting<uint32_t>> spin_us;  // else SpinUs()

  Setting<uint32_t> sessions = {kMaxInstances, ""};
  Setting<uint32_t> queues_per_session = {kMaxQueuesPerInstance, ""};
  Setting<uint32_t> connections = {kMaxConnections, ""};
  Setting<uint64_t> pool_bytes = {kDefaultPoolBytes, ""};
  // Of what devices lend. Nothing unless asked for: pinning a large disk holds its reactor up.
  Setting<uint64_t> registered_bytes = {0, ""};
  Setting<uint64_t> inline_bytes = {kDefaultInlineBytes, ""};
  Setting<uint32_t> handshake_timeout_ms = {
      static_cast<uint32_t>(kHandshakeTimeout / kNanosecondsPerMillisecond), ""};
  Setting<uint32_t> drain_timeout_ms = {kDefaultDrainTimeoutMs, ""};
  Setting<uint32_t> reactor_timeout_ms = {kDefaultReactorTimeoutMs, ""};  // 0: for ever

  Setting<std::string> log_level = {"info", ""};

  // Values that were written but could not be read; their settings have the defaults. Kept, so that
  // CheckTargetConfig reports them together with everything else.
  SettingErrors unreadable;
  bool has_unreadable_device = false;  // one that is not in `devices`

  uint32_t NumReactors() const {
    if (reactors) return reactors->value;
    return cpus ? static_cast<uint32_t>(cpus->value.size()) : 1;
  }
  // How long an idle reactor polls before it sleeps, in microseconds. When it was not set: a little
  // if this process may use more CPUs than it has reactors, else not at all, since the peer may
  // need the core.
  uint32_t SpinUs(uint32_t usable_cpus) const {
    if (spin_us) return spin_us->value;
    return !busy_poll.value && usable_cpus > NumReactors() ? kDefaultSpinUs : 0;
  }
};

}  // namespace vof

#endif  // VOF_TOOLS_CONFIG_TARGET_CONFIG_H_
