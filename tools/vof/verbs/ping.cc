// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/common/duration.h"
#include "tools/vof/device/open_device.h"
#include "tools/vof/shell/interrupt.h"
#include "tools/vof/verbs/verbs.h"

namespace vof {
namespace {

struct PingOptions {
  std::string uri;
  uint64_t count = 4;
  Nanoseconds interval = kNanosecondsPerSecond;
};

struct RoundTrips {
  std::vector<Nanoseconds> all;

  Nanoseconds min() const { return all.empty() ? 0 : *std::min_element(all.begin(), all.end()); }
  Nanoseconds max() const { return all.empty() ? 0 : *std::max_element(all.begin(), all.end()); }
  Nanoseconds Average() const {
    Nanoseconds sum = 0;
    for (const Nanoseconds one : all) sum += one;
    return all.empty() ? 0 : sum / static_cast<Nanoseconds>(all.size());
  }
};

// False: interrupted. In steps, so that neither that nor a lost connection waits for a long
// interval.
bool Pause(Nanoseconds interval, const DeviceClient& device, Interrupts* interrupts) {
  const InterruptWatch interrupt(interrupts);
  const MonotonicTime end = DeadlineAfter(MonotonicNow(), interval);
  while (!interrupt.requested() && device.status().ok()) {
    const Nanoseconds left = end - MonotonicNow();
    if (left <= 0) break;
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(left, Milliseconds(50))));
  }
  return !interrupt.requested();
}

absl::Status Report(const PingOptions& options, const std::string& address, const RoundTrips& trips,
                    VerbContext* context) {
  Json json;
  json["uri"] = options.uri;
  json["address"] = address;
  json["count"] = trips.all.size();
  json["rtt_ns"]["min"] = trips.min();
  json["rtt_ns"]["avg"] = trips.Average();
  json["rtt_ns"]["max"] = trips.max();
  json["times_ns"] = Json(trips.all);
  return context->output.Result(
      json, absl::StrCat(trips.all.size(), trips.all.size() == 1 ? " answer" : " answers",
                         ", round trip min/avg/max ", HumanDuration(trips.min()), " / ",
                         HumanDuration(trips.Average()), " / ", HumanDuration(trips.max()), "\n"));
}

absl::Status Ping(const PingOptions& options, VerbContext* context) {
  const auto device = OpenDevice(options.uri, context);
  if (!device.ok()) return device.status();
  const std::string address = AddressOf(**device);

  RoundTrips trips;
  while (trips.all.size() < options.count) {
    if (!trips.all.empty() && !Pause(options.interval, **device, &context->interrupts)) {
      const absl::Status reported = Report(options, address, trips, context);
      return reported.ok() ? absl::CancelledError("interrupted") : reported;
    }
    const absl::StatusOr<Nanoseconds> time = (*device)->Ping();
    if (!time.ok()) return time.status();
    trips.all.push_back(*time);
    const absl::Status printed =
        context->output.Line(absl::StrCat("answer from ", address, ": ", HumanDuration(*time)));
    if (!printed.ok()) return printed;
  }
  return Report(options, address, trips, context);
}

}  // namespace

Verb PingVerb() {
  auto options = std::make_shared<PingOptions>();
  return {
      .name = "ping",
      .summary = "Measures how long a target takes to answer.",
      .details =
          "Each round is a command on the control queue that does nothing. The device is\n"
          "connected meanwhile, as by any other use: one in exclusive use refuses it.",
      .examples =
          "  vof ping tcp://storage/disk0\n"
          "  vof ping --count 100 --interval 10ms --json tcp://storage/disk0",
      .flags = {Argument("URI", &options->uri, "the device"),
                CountFlag("--count,-c", {1, 1'000'000}, &options->count, "rounds (default: 4)"),
                DurationFlag("--interval", &options->interval, "time between them (default: 1s)")},
      .run = [options](VerbContext* context) { return Ping(*options, context); }};
}

}  // namespace vof
