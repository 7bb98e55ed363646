// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/serve.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/quoted.h"
#include "core/runtime/target.h"
#include "tools/common/duration.h"
#include "tools/common/exit_code.h"
#include "tools/common/logging.h"
#include "tools/common/machine_memory.h"
#include "tools/config/cpu_list.h"
#include "tools/vof_target/announce.h"
#include "tools/vof_target/event_log.h"
#include "tools/vof_target/memory_demand.h"
#include "tools/vof_target/memory_return.h"
#include "tools/vof_target/reactor_watch.h"

namespace vof {
namespace {

static_assert(kMaxTargetReactors == kMaxReactors,
              "what a configuration may ask for can be started");

// The status with its cause's place in front.
absl::Status At(const std::string& where, const absl::Status& status) {
  const std::string message(status.message());
  return absl::Status(status.code(), FormatSettingError({where, message}));
}

TargetServerOptions ServerOptions(const TargetConfig& config) {
  TargetServerOptions options;
  options.reactors = static_cast<int>(config.NumReactors());
  if (config.cpus) options.cpus.assign(config.cpus->value.begin(), config.cpus->value.end());
  options.busy_poll = config.busy_poll.value;
  options.spin = Nanoseconds{config.SpinUs(UsableCpus())} * 1000;
  options.pool_bytes = config.pool_bytes.value;
  options.most_lent_bytes = config.registered_bytes.value;
  options.limits.inline_request_bytes = static_cast<uint32_t>(config.inline_bytes.value);
  options.limits.inline_completion_bytes = static_cast<uint32_t>(config.inline_bytes.value);
  options.limits.max_instances = config.sessions.value;
  options.limits.max_queues_per_instance = static_cast<uint16_t>(config.queues_per_session.value);
  options.limits.max_connections = config.connections.value;
  // One session that hangs leaves half of the pool to the others.
  options.limits.max_session_bytes = config.pool_bytes.value / 2;
  options.limits.handshake_timeout = Milliseconds(config.handshake_timeout_ms.value);
  options.observer = MakeSessionLog();
  options.device_timeout = kResetTimeout;  // beyond the drain limit: a person is waiting
  return options;
}

absl::Status AddDevices(const TargetConfig& config, const DeviceFactoryRegistry& factories,
                        TargetServer* server) {
  for (const DeviceConfig& device : config.devices) {
    const auto factory = factories.Find(device.type);
    if (!factory.ok()) return At(device.where, factory.status());
    auto made = (*factory)->Make(device.name.value, device.options);
    if (!made.ok()) return At(device.where, made.status());
    const absl::Status added = server->AddDevice(device.name.value, *std::move(made));
    if (!added.ok()) return At(device.name.where, added);
    spdlog::debug("device {} of type {}", Quoted(device.name.value), device.type);
  }
  return absl::OkStatus();
}

// Two names of one address: the port is in use, but by nobody else.
absl::Status ListenError(const TargetConfig& config, const Setting<std::string>& listener,
                         const absl::Status& error) {
  const absl::StatusOr<Uri> uri = ParseListenerUri(listener.value);
  const bool in_use =
      absl::StrContains(error.message(), absl::NullSafeStringView(strerrordesc_np(EADDRINUSE)));
  for (const Setting<std::string>& other : config.listeners) {
    if (&other == &listener || !in_use || !uri.ok()) break;
    const absl::StatusOr<Uri> before = ParseListenerUri(other.value);
    if (!before.ok() || before->scheme != uri->scheme || before->port != uri->port) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "\"", listener.value, "\" listens where another listener of this target does, \"",
        other.value, "\" (", other.where, "): leave one of them out"));
  }
  return error;
}

absl::StatusOr<std::vector<Uri>> ListenEverywhere(const TargetConfig& config,
                                                  TargetServer* server) {
  std::vector<Uri> addresses;
  for (const Setting<std::string>& listener : config.listeners) {
    absl::StatusOr<Uri> address = server->Listen(listener.value);
    if (!address.ok()) {
      // A line of a file says which one it is.
      const std::string where = listener.where == kListenFlag
                                    ? absl::StrCat(kListenFlag, " ", listener.value)
                                    : listener.where;
      return At(where, ListenError(config, listener, address.status()));
    }
    spdlog::info("listening on {}", FormatUri(*address));
    addresses.push_back(*std::move(address));
  }
  return addresses;
}

std::vector<std::string> Names(const TargetConfig& config) {
  std::vector<std::string> names;
  for (const DeviceConfig& device : config.devices) names.push_back(device.name.value);
  return names;
}

// `timeout` is that of the configuration.
ReactorWatch::Options WatchOptions(TargetServer* server, Nanoseconds timeout,
                                   ReadyFile* ready_file) {
  const auto on_event = [ready_file](const ReactorWatch::Event& event) {
    switch (event.kind) {
      case ReactorEvent::kHangs:
        spdlog::error(
            "{} hangs, for {} by now: its sessions get no answers. A device or the library of a "
            "fabric keeps it, or the machine has no processor for it",
            event.reactor, FormatDuration(event.time));
        break;
      case ReactorEvent::kGoesOn:
        spdlog::warn("no reactor hangs any more");
        break;
      case ReactorEvent::kHangsOut:
        (void)ready_file->Remove();
        PrintError(spdlog::default_logger()->name(),
                   absl::StrCat(event.reactor, " has hung for ", FormatDuration(event.time),
                                " (reactor_timeout_ms): ended without it, start the target again"));
        // Nothing that waits for the reactor.
        _exit(ToInt(ExitCode::kFailed));
    }
  };
  return {.timeout = timeout,
          .ask = [pulse = server->pulse()] { return pulse->Ask(); },
          .on_event = on_event};
}

// Returns the signal that ends it.
int ServeUntilStopped(TargetServer* server, StopSignals* stop) {
  MemoryReturn memory;
  while (true) {
    const std::optional<int> signal = stop->WaitFor(MemoryReturn::kInterval);
    if (signal.has_value()) return *signal;
    memory.Look(server);
  }
}

void DrainAndStop(const TargetConfig& config, int signal, TargetServer* server, StopSignals* stop) {
  const Nanoseconds limit = Milliseconds(config.drain_timeout_ms.value);
  spdlog::info("{}: draining for at most {}; once more ends at once", strsignal(signal),
               FormatDuration(limit));
  stop->ExitAtOnceOnTheNext();
  const bool drained = server->Drain(limit);
  if (drained) {
    stop->IgnoreFurther();
    spdlog::info("drained");
  } else {
    spdlog::warn("not drained after {}: closing {} connections", FormatDuration(limit),
                 server->num_connections());
  }
  if (!server->Stop()) spdlog::warn("a device did not complete its requests; leaving without them");
  LogSummary(server->Counters());
}

absl::Status Open(const TargetFlags& flags, const DeviceFactoryRegistry& factories,
                  ReadyFile* ready_file, TargetServer* server) {
  absl::Status status = AddDevices(flags.config, factories, server);
  if (!status.ok()) return status;
  const auto addresses = ListenEverywhere(flags.config, server);
  if (!addresses.ok()) return addresses.status();
  return Announce(DeviceUris(*addresses, Names(flags.config)), flags.ready_fd, ready_file);
}

}  // namespace

absl::Status Serve(const TargetFlags& flags, BackendRegistry* backends,
                   const DeviceFactoryRegistry& factories, CreatedFiles* created,
                   ReadyFile* ready_file, StopSignals* stop) {
  const uint64_t descriptors = RaiseDescriptorLimit();
  spdlog::debug("at most {} descriptors, {} reactors on {} CPUs", descriptors,
                flags.config.NumReactors(), UsableCpus());
  const std::string memory = MemoryWarning(flags.config, MachineMemoryBytes());
  if (!memory.empty()) spdlog::warn("{}", memory);
  auto server = TargetServer::Start(ServerOptions(flags.config), backends);
  if (!server.ok()) return server.status();
  // Before anybody is told that it serves: what takes memory for itself has it by then.
  const ReactorWatch watch(
      WatchOptions(server->get(), Milliseconds(flags.config.reactor_timeout_ms.value), ready_file));
  const absl::Status opened = Open(flags, factories, ready_file, server->get());
  if (!opened.ok()) {
    (void)ready_file->Remove();
    for (const std::string& path : created->RemoveUnused()) {
      spdlog::info("removed {}, which this start had created", Quoted(path));
    }
    return opened;
  }
  const int signal = ServeUntilStopped(server->get(), stop);
  const absl::Status removed = ready_file->Remove();
  if (!removed.ok()) spdlog::warn("{}", std::string(removed.message()));
  DrainAndStop(flags.config, signal, server->get(), stop);
  return absl::OkStatus();
}

}  // namespace vof
