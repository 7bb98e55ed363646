// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/flags.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <string>
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

// An empty value is one that was given: somebody's variable is not set.
using Text = std::optional<std::string>;

// What the command line says, before it is laid over the configuration file.
struct RawFlags {
  Text config_file;
  std::vector<std::string> plugins, listeners, blk_devices, other_devices;
  Text reactors, spin_us, sessions, queues_per_session, connections;
  Text cpus, pool_size, registered_size, inline_size, handshake_timeout, drain_timeout,
      reactor_timeout, log_level;
  Text ready_fd, ready_file;
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
SIGTERM, SIGINT or SIGHUP: requests in flight are answered, then the program ends with 0.
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

// The library takes an empty text for none.
CLI::Option* AddText(CLI::App* app, const std::string& name, Text* to, const std::string& help) {
  return app->add_option_function<std::string>(
      name, [to](const std::string& value) { *to = value; }, help);
}

void AddServingOptions(CLI::App* app, RawFlags* raw) {
  AddText(app, "--config", &raw->config_file, "Read this configuration first; flags add to it")
      ->type_name("FILE");
  AddList(app, kListenFlag, &raw->listeners,
          "Accept initiators there: tcp://0.0.0.0:8549, and where they are linked "
          "verbs://ADDRESS and ofi://ADDRESS?provider=NAME; port 0: the kernel chooses; repeatable")
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
  AddText(app, "--reactors", &raw->reactors, "Threads that serve; 1, or one per CPU of --cpus")
      ->type_name("N");
  AddText(app, "--cpus", &raw->cpus, "Pin reactor i to the i-th of these CPUs; not pinned")
      ->type_name("LIST");
  app->add_flag("--busy-poll", raw->busy_poll, "Never sleep: lowest latency, whole cores");
  AddText(app, "--spin-us", &raw->spin_us,
          absl::StrCat("Poll that long before sleeping; ", kDefaultSpinUs,
                       " if there are more CPUs than reactors, else 0"))
      ->type_name("US");
  AddText(app, "--pool-size", &raw->pool_size,
          absl::StrCat("Payload memory of each reactor; ", FormatSize(kDefaultPoolBytes)))
      ->type_name("SIZE");
  AddText(app, "--registered-size", &raw->registered_size,
          "Memory of disks that RDMA fabrics read in place; 0")
      ->type_name("SIZE");
  AddText(app, "--inline-size", &raw->inline_size,
          absl::StrCat("Of requests and results that travel inside of messages on RDMA "
                       "fabrics; ",
                       FormatSize(kDefaultInlineBytes)))
      ->type_name("SIZE");
  AddText(app, "--max-sessions", &raw->sessions,
          absl::StrCat("Device instances at a time; ", kMaxInstances))
      ->type_name("N");
  AddText(app, "--max-queues", &raw->queues_per_session,
          absl::StrCat("Virtqueues of one instance; ", kMaxQueuesPerInstance))
      ->type_name("N");
  AddText(app, "--max-connections", &raw->connections,
          absl::StrCat("Connections at a time; ", kMaxConnections))
      ->type_name("N");
  AddText(app, "--handshake-timeout", &raw->handshake_timeout,
          "A new connection has that long for its first command; 10s")
      ->type_name("DURATION");
  AddText(app, "--drain-timeout", &raw->drain_timeout,
          "After SIGTERM, requests in flight have that long; 10s")
      ->type_name("DURATION");
  AddText(app, "--reactor-timeout", &raw->reactor_timeout,
          "End with 1 when a reactor has hung for that long; 60s, 0: never")
      ->type_name("DURATION");
}

void AddProgramOptions(CLI::App* app, const std::string& program, RawFlags* raw,
                       TargetFlags* flags) {
  AddText(app, "--log-level", &raw->log_level,
          absl::StrCat("One of ", std::string(KnownLogLevels()), "; info"))
      ->type_name("LEVEL");
  app->add_flag("--check", flags->check, "Validate the configuration, open nothing, exit 0 or 2");
  app->add_flag("--print-config", flags->print_config,
                "Print the effective configuration as a file, and exit");
  AddText(app, "--ready-fd", &raw->ready_fd,
          "Write the URIs to this open descriptor and close it, once connections are accepted")
      ->type_name("FD");
  AddText(app, "--ready-file", &raw->ready_file,
          "Write the URIs to this file (it appears complete), once connections are accepted")
      ->type_name("PATH");
  app->set_version_flag("--version", absl::StrCat(program, " ", kVersion));
}

class Overlay {
 public:
  Overlay(const RawFlags& raw, TargetFlags* flags)
      : raw_(raw), flags_(*flags), config_(flags->config) {}

  void Apply() {
    for (const std::string& path : raw_.plugins) config_.plugins.push_back({path, "--plugin"});
    for (const std::string& uri : raw_.listeners) config_.listeners.push_back({uri, kListenFlag});
    for (const std::string& text : raw_.blk_devices) AddDevice("--blk", "blk", text);
    for (const std::string& text : raw_.other_devices) AddDevice("--device", "", text);
    SetCount("--reactors", raw_.reactors, {1, kMaxTargetReactors}, &config_.reactors);
    SetCount("--spin-us", raw_.spin_us, {0, kMaxSpinUs}, &config_.spin_us);
    if (raw_.busy_poll) config_.busy_poll = {true, "--busy-poll"};
    DropOpposites();
    SetCount("--max-sessions", raw_.sessions, {1, kMaxInstances}, &config_.sessions);
    SetCount("--max-queues", raw_.queues_per_session, {1, kMaxQueuesPerInstance},
             &config_.queues_per_session);
    SetCount("--max-connections", raw_.connections, {1, kMaxConnections}, &config_.connections);
    if (raw_.log_level) config_.log_level = {*raw_.log_level, "--log-level"};
    SetCpus();
    SetSize("--pool-size", raw_.pool_size, &config_.pool_bytes);
    SetSize("--registered-size", raw_.registered_size, &config_.registered_bytes);
    SetSize("--inline-size", raw_.inline_size, &config_.inline_bytes);
    SetTimeout("--handshake-timeout", raw_.handshake_timeout, &config_.handshake_timeout_ms);
    SetTimeout("--drain-timeout", raw_.drain_timeout, &config_.drain_timeout_ms);
    SetTimeout("--reactor-timeout", raw_.reactor_timeout, &config_.reactor_timeout_ms);
    SetReadyFd();
    if (raw_.ready_file == "") {
      AddError("--ready-file", absl::InvalidArgumentError("the name of the file is empty"));
    }
  }

 private:
  // A flag wins over what the file says of the same thing in another way.
  void DropOpposites() {
    if (raw_.busy_poll && !raw_.spin_us) config_.spin_us.reset();
    const bool spins = config_.spin_us.has_value() && config_.spin_us->value != 0;
    if (!raw_.busy_poll && raw_.spin_us && spins) config_.busy_poll.value = false;
    if (raw_.cpus && !raw_.reactors) config_.reactors.reset();
    const bool other_count = config_.cpus.has_value() && config_.reactors.has_value() &&
                             config_.cpus->value.size() != config_.reactors->value;
    if (!raw_.cpus && raw_.reactors && other_count) config_.cpus.reset();
  }

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
  void SetCount(const char* flag, const Text& text, const Range& range, Place* to) {
    if (!text) return;
    uint32_t count = 0;
    if (absl::SimpleAtoi(*text, &count)) {
      *to = Setting<uint32_t>{count, flag};
      return;
    }
    AddError(flag,
             absl::InvalidArgumentError(absl::StrCat("\"", *text, "\" is not a whole number from ",
                                                     range.least, " to ", range.most)));
  }

  void SetReadyFd() {
    if (!raw_.ready_fd) return;
    int32_t fd = 0;
    if (absl::SimpleAtoi(*raw_.ready_fd, &fd) && fd >= 0) {
      flags_.ready_fd = fd;
      return;
    }
    AddError("--ready-fd", absl::InvalidArgumentError(absl::StrCat(
                               "\"", *raw_.ready_fd, "\" is not the number of a descriptor")));
  }

  void SetCpus() {
    if (!raw_.cpus) return;
    auto cpus = ParseCpuList(*raw_.cpus);
    if (!cpus.ok()) return AddError("--cpus", cpus.status());
    config_.cpus = {*std::move(cpus), "--cpus"};
  }

  void SetSize(const char* flag, const Text& text, Setting<uint64_t>* to) {
    if (!text) return;
    const auto size = ParseSize(*text);
    if (!size.ok()) return AddError(flag, size.status());
    *to = {*size, flag};
  }

  void SetTimeout(const char* flag, const Text& text, Setting<uint32_t>* to) {
    if (!text) return;
    const auto duration = ParseDuration(*text);
    if (!duration.ok()) return AddError(flag, duration.status());
    // Rounded up: a microsecond is not "no time at all". Above the limit the check says so.
    const Nanoseconds ms = (*duration - 1) / kNanosecondsPerMillisecond + (*duration > 0 ? 1 : 0);
    *to = {static_cast<uint32_t>(std::min<Nanoseconds>(ms, UINT32_MAX)), flag};
  }

  const RawFlags& raw_;
  TargetFlags& flags_;
  TargetConfig& config_;  // of flags_
};

std::optional<ExitCode> ParseWords(CLI::App* app, const std::string& program, int argc,
                                   const char* const* argv) {
  try {
    app->parse(argc, argv);
  } catch (const CLI::Success& success) {  // help and version
    app->exit(success);
    return ExitCode::kOk;
  } catch (const CLI::ParseError& error) {
    PrintError(program, absl::StrCat(error.what(), " (", program, " --help lists what there is)"));
    return ExitCode::kUsage;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ExitCode> ParseTargetFlags(const std::string& program, int argc,
                                         const char* const* argv, TargetFlags* flags) {
  RawFlags raw;
  CLI::App app("Serves virtio devices over a network (virtio-over-fabrics).", program);
  app.footer(Footer(program));
  AddServingOptions(&app, &raw);
  AddTuningOptions(&app, &raw);
  AddProgramOptions(&app, program, &raw, flags);
  const std::optional<ExitCode> done = ParseWords(&app, program, argc, argv);
  flags->ready_file = raw.ready_file.value_or("");
  if (done) return done;
  SettingErrors errors;
  if (raw.config_file) errors = ReadConfigFile(*raw.config_file, &flags->config);
  Overlay(raw, flags).Apply();
  if (errors.empty()) return std::nullopt;
  // What the file says is not known: only what is wrong whatever it says can be told beside it.
  const SettingErrors& unreadable = flags->config.unreadable;
  errors.insert(errors.end(), unreadable.begin(), unreadable.end());
  PrintErrors(program, FormatSettingErrors(errors));
  return ExitCode::kUsage;
}

}  // namespace vof
