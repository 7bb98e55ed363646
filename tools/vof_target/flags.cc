// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/flags.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tools/common/duration.h"
#include "tools/common/logging.h"
#include "tools/common/size.h"
#include "tools/common/version.h"
#include "tools/config/config_file.h"
#include "tools/config/cpu_list.h"
#include "tools/config/option_text.h"
#include "tools/vof_target/blk_spec.h"

namespace vof {
namespace {

// What the command line says, before it is laid over the configuration file.
struct RawFlags {
  std::string config_file;
  std::vector<std::string> plugins, listeners, blk_devices, other_devices;
  std::string reactors, spin_us, sessions, queues_per_session, connections;
  std::string cpus, pool_size, handshake_timeout, drain_timeout, log_level;
  bool busy_poll = false;
};

constexpr char kExamples[] = R"(
Examples:
  A disk of 1 GiB in memory, on a port that the kernel chooses:
    PROGRAM --listen tcp://127.0.0.1:0 --blk name=mem0,store=memory,size=1G
  A file, created with 10 GiB if it is not there, for all hosts that reach port 8549:
    PROGRAM --listen tcp://0.0.0.0 --blk name=disk0,store=file,path=/srv/disk0.img,size=10G
  The same every day, from a file that was checked first:
    PROGRAM --config /etc/vof/target.conf --check && PROGRAM --config /etc/vof/target.conf

stdout gets one URI per device and listener, then nothing more; the log goes to stderr.
SIGTERM or SIGINT: requests in flight are answered, then the program ends with 0.
Exit codes: 0 ok, 1 failed (port in use, file missing, ...), 2 command line or configuration wrong.
The configuration file is described in docs/configuration.md.
)";

std::string BlkHelp() {
  std::string help = "A block device; repeatable. A comma inside a value is written twice. Keys:\n";
  absl::StrAppend(&help, "  name: under which initiators ask for it; required\n");
  for (const DeviceOptionHelp& option : BlkOptionHelp()) {
    absl::StrAppend(&help, "  ", option.key, ": ", option.help, "\n");
  }
  return help;
}

std::string Footer(const std::string& program) {
  std::string text = kExamples;
  const std::string placeholder = "PROGRAM";
  for (size_t at; (at = text.find(placeholder)) != std::string::npos;) {
    text.replace(at, placeholder.size(), program);
  }
  return text;
}

CLI::Option* AddList(CLI::App* app, const std::string& name, std::vector<std::string>* to,
                     const std::string& help) {
  return app->add_option(name, *to, help)->allow_extra_args(false);
}

void AddServingOptions(CLI::App* app, RawFlags* raw) {
  app->add_option("--config", raw->config_file, "Read this configuration first; flags add to it")
      ->type_name("FILE");
  AddList(app, "--listen", &raw->listeners,
          "Accept initiators there, for example tcp://0.0.0.0:8549; port 0: the kernel chooses; "
          "repeatable")
      ->type_name("URI");
  AddList(app, "--blk", &raw->blk_devices, BlkHelp())->type_name("KEY=VALUE,...");
  AddList(app, "--device", &raw->other_devices,
          "A device of any type, a plugin's for example: type=TYPE,name=NAME and its own keys; "
          "repeatable")
      ->type_name("KEY=VALUE,...");
  AddList(app, "--plugin", &raw->plugins, "Load device types from a shared object; repeatable")
      ->type_name("PATH");
}

void AddTuningOptions(CLI::App* app, RawFlags* raw) {
  app->add_option("--reactors", raw->reactors, "Threads that serve; 1, or one per CPU of --cpus")
      ->type_name("N");
  app->add_option("--cpus", raw->cpus, "Pin reactor i to the i-th of these CPUs; not pinned")
      ->type_name("LIST");
  app->add_flag("--busy-poll", raw->busy_poll, "Never sleep: lowest latency, whole cores");
  app->add_option("--spin-us", raw->spin_us,
                  absl::StrCat("Poll that long before sleeping; ", kDefaultSpinUs,
                               " if there are more CPUs than reactors, else 0"))
      ->type_name("US");
  app->add_option("--pool-size", raw->pool_size,
                  absl::StrCat("Payload memory of each reactor; ", FormatSize(kDefaultPoolBytes)))
      ->type_name("SIZE");
  app->add_option("--max-sessions", raw->sessions,
                  absl::StrCat("Device instances at a time; ", kMaxInstances))
      ->type_name("N");
  app->add_option("--max-queues", raw->queues_per_session,
                  absl::StrCat("Virtqueues of one instance; ", kMaxQueuesPerInstance))
      ->type_name("N");
  app->add_option("--max-connections", raw->connections,
                  absl::StrCat("Connections at a time; ", kMaxConnections))
      ->type_name("N");
  app->add_option("--handshake-timeout", raw->handshake_timeout,
                  "A new connection has that long for its first command; 10s")
      ->type_name("TIME");
  app->add_option("--drain-timeout", raw->drain_timeout,
                  "After SIGTERM, requests in flight have that long; 10s")
      ->type_name("TIME");
}

void AddProgramOptions(CLI::App* app, const std::string& program, RawFlags* raw,
                       TargetFlags* flags) {
  app->add_option("--log-level", raw->log_level,
                  absl::StrCat("One of ", std::string(KnownLogLevels()), "; info"))
      ->type_name("LEVEL");
  app->add_flag("--check", flags->check, "Validate the configuration, open nothing, exit 0 or 2");
  app->add_flag("--print-config", flags->print_config,
                "Print the effective configuration as a file, and exit");
  app->add_option(
         "--ready-fd", flags->ready_fd,
         "Write the URIs to this open descriptor and close it, once connections are accepted")
      ->type_name("FD");
  app->add_option(
         "--ready-file", flags->ready_file,
         "Write the URIs to this file (it appears complete), once connections are accepted")
      ->type_name("PATH");
  app->set_version_flag("--version", absl::StrCat(program, " ", kVersion));
}

class Overlay {
 public:
  Overlay(const RawFlags& raw, TargetConfig* config) : raw_(raw), config_(*config) {}

  void Apply() {
    for (const std::string& path : raw_.plugins) config_.plugins.push_back({path, "--plugin"});
    for (const std::string& uri : raw_.listeners) config_.listeners.push_back({uri, "--listen"});
    for (const std::string& text : raw_.blk_devices) AddDevice("--blk", "blk", text);
    for (const std::string& text : raw_.other_devices) AddDevice("--device", "", text);
    SetCount("--reactors", raw_.reactors, {1, kMaxTargetReactors}, &config_.reactors);
    SetCount("--spin-us", raw_.spin_us, {0, kMaxSpinUs}, &config_.spin_us);
    if (raw_.busy_poll) config_.busy_poll = {true, "--busy-poll"};
    SetCount("--max-sessions", raw_.sessions, {1, kMaxInstances}, &config_.sessions);
    SetCount("--max-queues", raw_.queues_per_session, {1, kMaxQueuesPerInstance},
             &config_.queues_per_session);
    SetCount("--max-connections", raw_.connections, {1, kMaxConnections}, &config_.connections);
    if (!raw_.log_level.empty()) config_.log_level = {raw_.log_level, "--log-level"};
    SetCpus();
    SetPoolSize();
    SetTimeout("--handshake-timeout", raw_.handshake_timeout, &config_.handshake_timeout_ms);
    SetTimeout("--drain-timeout", raw_.drain_timeout, &config_.drain_timeout_ms);
  }

 private:
  void AddError(const std::string& where, const absl::Status& status) {
    config_.unreadable.push_back({where, std::string(status.message())});
  }
  void AddDeviceError(const std::string& where, const absl::Status& status) {
    AddError(where, status);
    config_.has_unreadable_device = true;
  }

  // `type` is empty when the text says it.
  void AddDevice(const std::string& flag, const std::string& type, const std::string& text) {
    const std::string where = absl::StrCat(flag, " ", text);
    auto options = ParseOptionText(text);
    if (!options.ok()) return AddDeviceError(where, options.status());
    DeviceConfig device;
    device.where = where;
    device.name.where = where;
    device.type = type;
    bool has_name = false, has_type = !type.empty();
    for (DeviceOption& option : *options) {
      const bool is_name = option.key == "name";
      if (is_name || (option.key == "type" && type.empty())) {
        if (std::exchange(is_name ? has_name : has_type, true)) {
          const std::string message = absl::StrCat("\"", option.key, "\" is given twice");
          return AddDeviceError(where, absl::InvalidArgumentError(message));
        }
        (is_name ? device.name.value : device.type) = std::move(option.value);
      } else {
        device.AddOption(std::move(option.key), std::move(option.value), where);
      }
    }
    config_.devices.push_back(std::move(device));
  }

  struct Range {
    uint32_t least = 0;
    uint32_t most = 0;
  };
  // A number beyond the range is left to the check, like one of the file.
  template <typename Place>
  void SetCount(const char* flag, const std::string& text, const Range& range, Place* to) {
    if (text.empty()) return;
    uint32_t count = 0;
    if (absl::SimpleAtoi(text, &count)) {
      *to = Setting<uint32_t>{count, flag};
      return;
    }
    AddError(flag,
             absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not a whole number from ",
                                                     range.least, " to ", range.most)));
  }

  void SetCpus() {
    if (raw_.cpus.empty()) return;
    auto cpus = ParseCpuList(raw_.cpus);
    if (!cpus.ok()) return AddError("--cpus", cpus.status());
    config_.cpus = {*std::move(cpus), "--cpus"};
  }

  void SetPoolSize() {
    if (raw_.pool_size.empty()) return;
    const auto size = ParseSize(raw_.pool_size);
    if (!size.ok()) return AddError("--pool-size", size.status());
    config_.pool_bytes = {*size, "--pool-size"};
  }

  void SetTimeout(const char* flag, const std::string& text, Setting<uint32_t>* to) {
    if (text.empty()) return;
    const auto duration = ParseDuration(text);
    if (!duration.ok()) return AddError(flag, duration.status());
    // Rounded up: a microsecond is not "no time at all". Above the limit the check says so.
    const Nanoseconds ms = (*duration - 1) / kNanosecondsPerMillisecond + (*duration > 0 ? 1 : 0);
    *to = {static_cast<uint32_t>(std::min<Nanoseconds>(ms, UINT32_MAX)), flag};
  }

  const RawFlags& raw_;
  TargetConfig& config_;
};

}  // namespace

std::optional<ExitCode> ParseTargetFlags(const std::string& program, int argc,
                                         const char* const* argv, TargetFlags* flags) {
  RawFlags raw;
  CLI::App app("Serves virtio devices over a network (virtio-over-fabrics).", program);
  app.footer(Footer(program));
  AddServingOptions(&app, &raw);
  AddTuningOptions(&app, &raw);
  AddProgramOptions(&app, program, &raw, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // help and version
    app.exit(success);
    return ExitCode::kOk;
  } catch (const CLI::ParseError& error) {
    PrintError(program, absl::StrCat(error.what(), " (", program, " --help lists what there is)"));
    return ExitCode::kUsage;
  }
  SettingErrors errors;
  if (!raw.config_file.empty()) errors = ReadConfigFile(raw.config_file, &flags->config);
  Overlay(raw, &flags->config).Apply();
  if (errors.empty()) return std::nullopt;
  // What the file says is not known: only what is wrong whatever it says can be told beside it.
  const SettingErrors& unreadable = flags->config.unreadable;
  errors.insert(errors.end(), unreadable.begin(), unreadable.end());
  for (const SettingError& error : errors) PrintError(program, FormatSettingError(error));
  return ExitCode::kUsage;
}

}  // namespace vof
