// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/engine/initiator_status.h"
#include "tools/common/size.h"
#include "tools/config/cpu_list.h"
#include "tools/vof/bench/bench_options.h"
#include "tools/vof/bench/bench_reactors.h"
#include "tools/vof/bench/bench_result.h"
#include "tools/vof/bench/bench_run.h"
#include "tools/vof/bench/loop_target.h"
#include "tools/vof/bench/stamped_size.h"
#include "tools/vof/device/open_device.h"
#include "tools/vof/shell/interrupt.h"
#include "tools/vof/shell/progress.h"
#include "tools/vof/verbs/transfer_verb.h"
#include "tools/vof/verbs/verbs.h"

namespace vof {
namespace {

// The command line, before it is understood.
struct BenchFlags {
  std::string rw = "randread";
  std::optional<uint64_t> mix_percent;
  uint64_t spin_us = 0;
  uint64_t queues = 0;      // 0: as the URI says
  uint64_t operations = 0;  // 0: no limit
  std::string cpus;
  BenchOptions options;
};

absl::StatusOr<BenchOptions> Understand(const BenchFlags& flags) {
  BenchOptions options = flags.options;
  std::optional<int> mix_percent;
  if (flags.mix_percent) mix_percent = static_cast<int>(*flags.mix_percent);
  const auto access = ParseAccess(flags.rw, mix_percent);
  if (!access.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--rw: ", access.status().message()));
  }
  options.access = *access;
  if (flags.operations != 0) options.operations = flags.operations;
  if (options.time == 0 && !options.operations) {
    return absl::InvalidArgumentError(
        "--time 0 measures nothing; with --ops it means no limit but that of the operations");
  }
  if (options.time == 0) options.time = kInfiniteFuture;
  if (options.busy_poll && flags.spin_us != 0) {
    return absl::InvalidArgumentError(
        "--spin-us has no meaning with --busy-poll, which never sleeps: choose one");
  }
  options.spin = static_cast<Nanoseconds>(flags.spin_us) * 1000;
  if (!flags.cpus.empty()) {
    const auto cpus = ParseCpuList(flags.cpus);
    const absl::Status usable = cpus.ok() ? CheckUsable(*cpus) : cpus.status();
    if (!usable.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--cpus: ", usable.message()));
    }
    options.cpus = *cpus;
  }
  return options;
}

BenchDevice DeviceOf(const BlkInfo& info) {
  return {.capacity_bytes = info.capacity_bytes,
          .block_bytes = info.block_bytes,
          .max_request_bytes = info.max_transfer_bytes,
          .read_only = info.read_only};
}

// A line a second on the terminal, and the interrupt.
class BenchWatcher {
 public:
  BenchWatcher(const BenchOptions& options, VerbContext* context)
      : options_(options),
        interrupts_(&context->interrupts),
        line_(!context->output.json() && !context->output.quiet()) {}

  bool Tick(BenchPhase phase, uint64_t operations, Nanoseconds elapsed) {
    const bool new_phase = phase != phase_;
    if (line_.enabled() && (new_phase || elapsed - shown_at_ >= kNanosecondsPerSecond)) {
      const uint64_t before = new_phase ? 0 : shown_operations_;
      const Nanoseconds since = new_phase ? 0 : shown_at_;
      line_.Show(Format(phase, operations - before, elapsed - since, elapsed));
      phase_ = phase;
      shown_operations_ = operations;
      shown_at_ = elapsed;
    }
    // Not before: until then buffers are filled, which nobody could stop, and there are no figures.
    if (!interrupt_) interrupt_.emplace(interrupts_);
    return !interrupt_->requested();
  }
  void Clear() { line_.Clear(); }

 private:
  std::string Format(BenchPhase phase, uint64_t operations, Nanoseconds interval,
                     Nanoseconds elapsed) const {
    const char* name = phase == BenchPhase::kWarmUp    ? "warming up"
                       : phase == BenchPhase::kMeasure ? "measuring"
                                                       : "checking";
    const double seconds =
        static_cast<double>(interval) / static_cast<double>(kNanosecondsPerSecond);
    const double iops = seconds > 0 ? static_cast<double>(operations) / seconds : 0;
    return absl::StrFormat("%s  %d s  %.0f IOPS  %s", name, elapsed / kNanosecondsPerSecond, iops,
                           FormatRate(operations * options_.block_bytes, interval));
  }

  const BenchOptions& options_;
  Interrupts* const interrupts_;
  std::optional<InterruptWatch> interrupt_;
  ProgressLine line_;
  BenchPhase phase_ = BenchPhase::kWarmUp;
  uint64_t shown_operations_ = 0;
  Nanoseconds shown_at_ = 0;
};

// What the program ends with when the figures are printed.
absl::Status Verdict(const BenchOptions& options, const BenchResult& result, BlkClient* client) {
  if (result.mismatches > 0) {
    return DataDifferError(absl::StrCat(
        options.uri, ": ", result.mismatches, " of ", result.checked_blocks,
        " checked blocks hold wrong data; the first: ", result.mismatch_samples.front()));
  }
  if (result.errors == 0) {
    return result.interrupted ? absl::CancelledError("interrupted") : absl::OkStatus();
  }
  for (size_t i = 0; i < client->num_queues(); ++i) {
    // Says more than the requests that ended with it, and has an exit code of its own.
    const absl::Status lost = client->queue(i).status();
    if (!lost.ok()) return WithContext(options.uri, lost);
  }
  return absl::UnknownError(
      absl::StrCat(options.uri, ": ", result.errors,
                   " operations failed; the first: ", result.error_samples.front()));
}

absl::Status Measure(BlkClient* client, const BenchOptions& options, VerbContext* context) {
  const absl::StatusOr<BenchPlan> plan = PlanBench(options, DeviceOf(client->info()));
  if (!plan.ok()) return plan.status();
  if (const absl::Status other = CheckStampedSize(client, options); !other.ok()) return other;
  const bool data_of_somebody = client->device().uri().scheme != "loop";
  if (options.access.writes() && data_of_somebody) {
    context->output.Note(absl::StrCat("overwriting the first ",
                                      HumanSize(plan->num_blocks * options.block_bytes), " of ",
                                      options.uri));
  }
  BenchWatcher watcher(options, context);
  const auto tick = [&](BenchPhase phase, uint64_t operations, Nanoseconds elapsed) {
    return watcher.Tick(phase, operations, elapsed);
  };
  const auto on_slow_stop = [&](const BenchResult& so_far, uint64_t num_requests) {
    watcher.Clear();
    context->output.ResultSoFar(BenchJson(options, so_far), BenchText(options, so_far));
    NoteSlowStop("request", num_requests, &context->output);
  };
  const std::unique_ptr<BenchResult> result =
      RunBench(client, options, *plan, {.tick = tick, .on_slow_stop = on_slow_stop});
  watcher.Clear();
  const absl::Status printed =
      context->output.Result(BenchJson(options, *result), BenchText(options, *result));
  return printed.ok() ? Verdict(options, *result, client) : printed;
}

absl::Status Bench(const BenchFlags& flags, VerbContext* context) {
  absl::StatusOr<BenchOptions> options = Understand(flags);
  if (!options.ok()) return options.status();
  absl::StatusOr<Uri> uri = ResolveUri(options->uri, *context);
  if (!uri.ok()) return uri.status();
  // The flag wins over the key of the URI, as with every key that has a flag.
  if (flags.queues != 0) uri->options.queues = static_cast<uint16_t>(flags.queues);
  if (uri->options.queues == 0) uri->options.queues = 1;
  options->queues = uri->options.queues;

  std::unique_ptr<TargetServer> loop_target;
  if (uri->scheme == "loop") {
    LoopTargetOptions loop{
        .queues = uri->options.queues, .busy_poll = options->busy_poll, .spin = options->spin};
    loop.size_bytes = options->span_bytes.value_or(loop.size_bytes);
    auto started = StartLoopTarget(*uri, loop, &context->backends);
    if (!started.ok()) return started.status();
    loop_target = *std::move(started);
  }
  const absl::StatusOr<BenchReactors> reactors = StartBenchReactors(*options);
  if (!reactors.ok()) return reactors.status();
  DeviceClientOptions client_options;
  for (const auto& thread : *reactors) client_options.reactors.push_back(thread->reactor());
  const auto client = BlkClient::Connect(*uri, &context->backends, std::move(client_options));
  if (!client.ok()) return client.status();
  NoteShortfalls((*client)->device(), &context->output);
  options->queues = (*client)->num_queues();
  const std::vector<uint16_t>& sizes = (*client)->device().info().queue_sizes;
  options->queue_size = *std::min_element(sizes.begin(), sizes.end());
  if (const std::string note = DepthNote(*options); !note.empty()) context->output.Note(note);
  return Measure(client->get(), *options, context);
}

std::vector<Flag> FlagsInto(BenchFlags* flags) {
  BenchOptions* options = &flags->options;
  return {
      Argument("URI", &options->uri, "the device"),
      TextFlag("--rw", "ACCESS", &flags->rw,
               "read, write, randread, randwrite, rw or randrw (default: randread)"),
      CountFlag("--mix", {0, 100}, &flags->mix_percent,
                "percent of reads in rw and randrw (default: 70)"),
      SizeFlag("--bs", &options->block_bytes, "bytes of one operation (default: 4K)"),
      CountFlag("--depth", {1, kMaxQueueSize}, &options->depth,
                "operations in flight on each queue (default: 32)"),
      CountFlag("--queues", {1, kMaxQueuesPerInstance}, &flags->queues,
                "virtqueues, fewer when the device has fewer (URI key queues; default: 1)"),
      SizeFlag("--size", &options->span_bytes,
               "use only the first SIZE bytes (default: all); with loop:, the size of the disk "
               "(default: 256M)"),
      DurationFlag("--time", &options->time,
                   "how long to measure; 0, with --ops, for as long as it takes (default: 10s)"),
      CountFlag("--ops", {1, UINT64_MAX}, &flags->operations,
                "stop after so many operations, if that comes first"),
      DurationFlag("--warmup", &options->warmup, "run so long before measuring (default: 0)"),
      CountFlag("--seed", {}, &options->seed, "of the random places and data (default: 1)"),
      Switch("--verify", &options->verify,
             "write stamped blocks, and check what is read; what was written is read again at "
             "the end"),
      TextFlag("--cpus", "LIST", &flags->cpus,
               "pin one thread to each of these CPUs, as 0-3,6 (default: one thread per queue, "
               "not pinned)"),
      Switch("--busy-poll", &options->busy_poll, "never sleep while waiting"),
      CountFlag("--spin-us", {0, 1'000'000}, &flags->spin_us,
                "microseconds to poll before sleeping (default: 0)"),
  };
}

}  // namespace

Verb BenchVerb() {
  auto flags = std::make_shared<BenchFlags>();
  return {
      .name = "bench",
      .summary = "Measures a device: operations per second, bandwidth, latencies.",
      .details =
          "Writing modes DESTROY the data of the device (the first --size bytes of it). loop:\n"
          "URIs need no target: a memory disk is made in this process. An interrupt ends the\n"
          "benchmark early, with the figures so far and exit code 1.",
      .examples =
          "  vof bench tcp://storage/disk0\n"
          "  vof bench --rw randrw --mix 70 --bs 8K --depth 64 --queues 4 tcp://storage/scratch\n"
          "  vof bench --rw randrw --verify --size 1G --ops 1000000 tcp://storage/scratch\n"
          "  vof bench --busy-poll --cpus 2 --depth 1 --json loop:///memory",
      .flags = FlagsInto(flags.get()),
      .run = [flags](VerbContext* context) { return Bench(*flags, context); }};
}

}  // namespace vof
