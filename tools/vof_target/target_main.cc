// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/target_main.h"

#include <cstdio>
#include <memory>
#include <optional>

#include "core/device/device_factory.h"
#include "core/device/device_plugin.h"
#include "tools/common/exit_code.h"
#include "tools/common/logging.h"
#include "tools/common/standard_descriptors.h"
#include "tools/common/write_signals.h"
#include "tools/config/config_check.h"
#include "tools/config/config_file.h"
#include "tools/config/cpu_list.h"
#include "tools/vof_target/announce.h"
#include "tools/vof_target/blk_factory.h"
#include "tools/vof_target/created_files.h"
#include "tools/vof_target/disk_files.h"
#include "tools/vof_target/event_log.h"
#include "tools/vof_target/flags.h"
#include "tools/vof_target/process.h"
#include "tools/vof_target/ready_file.h"
#include "tools/vof_target/serve.h"

namespace vof {
namespace {

SettingErrors FillFactories(const TargetConfig& config, CreatedFiles* created,
                            DeviceFactoryRegistry* factories) {
  SettingErrors errors;
  BlkHooks hooks;
  hooks.on_created = [created](const std::string& path) { created->Add(path); };
  hooks.on_error = MakeDiskLog();
  hooks.on_plain_calls = LogPlainCalls;
  if (absl::Status status = factories->Add(std::make_unique<BlkFactory>(hooks)); !status.ok()) {
    errors.push_back({"", std::string(status.message())});
  }
  for (const Setting<std::string>& plugin : config.plugins) {
    const absl::Status status = LoadDevicePlugin(plugin.value, factories);
    if (!status.ok()) errors.push_back({plugin.where, std::string(status.message())});
  }
  return errors;
}

// The devices as they would be made. The configuration has been checked.
TargetConfig WithDeviceDefaults(TargetConfig config, const DeviceFactoryRegistry& factories) {
  for (DeviceConfig& device : config.devices) {
    const auto factory = factories.Find(device.type);
    if (!factory.ok()) continue;
    device.options = (*factory)->WithDefaults(device.name.value, device.options);
    device.option_where.resize(device.options.size());
  }
  return config;
}

void Append(const SettingErrors& more, SettingErrors* errors) {
  errors->insert(errors->end(), more.begin(), more.end());
}

SettingErrors CheckReadyOptions(const TargetFlags& flags, const ReadyFile& ready_file) {
  SettingErrors errors;
  if (const absl::Status fd = CheckReadyFd(flags.ready_fd); !fd.ok()) {
    errors.push_back({"--ready-fd", std::string(fd.message())});
  }
  if (const absl::Status file = ready_file.Check(); !file.ok()) {
    errors.push_back({"--ready-file", std::string(file.message())});
  }
  return errors;
}

// Of this machine, so only before serving: a configuration may be checked on another one.
SettingErrors CheckCpus(const TargetConfig& config) {
  if (!config.cpus.has_value()) return {};
  const absl::Status usable = CheckUsable(config.cpus->value);
  if (usable.ok()) return {};
  return {{config.cpus->where, std::string(usable.message())}};
}

// Returns whether there was none.
bool PrintSettingErrors(const std::string& program, const SettingErrors& errors) {
  PrintErrors(program, FormatSettingErrors(errors));
  return errors.empty();
}

}  // namespace

int TargetMain(const TargetProgram& program, int argc, char** argv) {
  const absl::Status open = OpenStandardDescriptors(ClosedDescriptors::kAreIgnored);
  if (!open.ok()) {
    PrintError(program.name, std::string(open.message()));
    return ToInt(ExitCode::kFailed);
  }
  LetWritesFail();
  TargetFlags flags;
  const auto done = ParseTargetFlags(program.name, argc, argv, &flags);
  // Before anything can go wrong: nobody shall wait for this start and find the file of another.
  const bool serves = done.value_or(ExitCode::kUsage) != ExitCode::kOk && !flags.check;
  ReadyFile ready_file(flags.ready_file);
  absl::Status fresh;
  if (serves && !flags.print_config) fresh = ready_file.RemoveStale();
  if (done) return ToInt(*done);
  // Only now: until here a signal ends the process, which may have waited for a configuration that
  // nobody writes. Programs that only print never wait for signals. Plugins may start threads.
  std::optional<StopSignals> stop;
  if (serves && !flags.print_config) stop.emplace();

  BackendRegistry backends;
  program.register_backends(backends);
  DeviceFactoryRegistry factories;
  CreatedFiles created;
  SettingErrors errors = FillFactories(flags.config, &created, &factories);
  const KnownTypes known = errors.empty() ? KnownTypes::kAll : KnownTypes::kSome;
  Append(CheckTargetConfig(flags.config, backends, factories, known), &errors);
  Append(CheckDiskFiles(flags.config), &errors);
  Append(CheckReadyOptions(flags, ready_file), &errors);
  if (!PrintSettingErrors(program.name, errors)) return ToInt(ExitCode::kUsage);

  if (flags.print_config) {
    const TargetConfig effective = WithDeviceDefaults(flags.config, factories);
    std::fputs(FormatConfig(effective, UsableCpus()).c_str(), stdout);
    return ToInt(std::fflush(stdout) == 0 ? ExitCode::kOk : ExitCode::kFailed);
  }
  if (flags.check) return ToInt(ExitCode::kOk);

  if (!PrintSettingErrors(program.name, CheckCpus(flags.config))) return ToInt(ExitCode::kUsage);
  if (!fresh.ok()) {
    PrintError(program.name, std::string(fresh.message()));
    return ToInt(ExitCode::kFailed);
  }
  const absl::Status logging =
      SetUpLogging({.level = flags.config.log_level.value, .program = program.name});
  const absl::Status served =
      logging.ok() ? Serve(flags, &backends, factories, &created, &ready_file, &*stop) : logging;
  if (served.ok()) return ToInt(ExitCode::kOk);
  PrintError(program.name, std::string(served.message()));
  return ToInt(ExitCode::kFailed);
}

}  // namespace vof
