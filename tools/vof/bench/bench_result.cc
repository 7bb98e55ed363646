// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/bench/bench_result.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/common/duration.h"
#include "tools/common/size.h"

namespace vof {
namespace {

using Json = nlohmann::ordered_json;

double PerSecond(double amount, Nanoseconds elapsed) {
  if (elapsed <= 0) return 0;
  return amount * static_cast<double>(kNanosecondsPerSecond) / static_cast<double>(elapsed);
}

void AppendSamples(const std::vector<std::string>& from, std::vector<std::string>* to) {
  for (const std::string& sample : from) {
    if (to->size() < BenchResult::kMaxSamples) to->push_back(sample);
  }
}

std::string Row(std::string_view name, const LatencyHistogram& latencies,
                const BenchOptions& options, Nanoseconds elapsed) {
  const double iops = PerSecond(static_cast<double>(latencies.count()), elapsed);
  const auto bytes_per_second =
      static_cast<uint64_t>(iops * static_cast<double>(options.block_bytes));
  std::string row = absl::StrFormat("%-6s %10d %10.0f %14s", std::string(name), latencies.count(),
                                    iops, absl::StrCat(HumanSize(bytes_per_second), "/s"));
  for (const Nanoseconds value :
       {latencies.min(), latencies.Mean(), latencies.Percentile(50), latencies.Percentile(90),
        latencies.Percentile(99), latencies.Percentile(99.9), latencies.max()}) {
    absl::StrAppendFormat(&row, " %9s", HumanDuration(value));
  }
  return row + "\n";
}

Json DirectionJson(const LatencyHistogram& latencies, const BenchOptions& options,
                   Nanoseconds elapsed) {
  const double iops = PerSecond(static_cast<double>(latencies.count()), elapsed);
  Json json;
  json["ops"] = latencies.count();
  json["iops"] = iops;
  json["bytes_per_s"] = iops * static_cast<double>(options.block_bytes);
  Json latency;
  latency["min"] = latencies.min();
  latency["mean"] = latencies.Mean();
  latency["p50"] = latencies.Percentile(50);
  latency["p90"] = latencies.Percentile(90);
  latency["p99"] = latencies.Percentile(99);
  latency["p99.9"] = latencies.Percentile(99.9);
  latency["max"] = latencies.max();
  json["latency_ns"] = std::move(latency);
  return json;
}

LatencyHistogram Both(const BenchResult& result) {
  LatencyHistogram both = result.reads;
  both.Merge(result.writes);
  return both;
}

}  // namespace

void BenchResult::Merge(const BenchResult& other) {
  reads.Merge(other.reads);
  writes.Merge(other.writes);
  errors += other.errors;
  checked_blocks += other.checked_blocks;
  mismatches += other.mismatches;
  AppendSamples(other.error_samples, &error_samples);
  AppendSamples(other.mismatch_samples, &mismatch_samples);
  elapsed = std::max(elapsed, other.elapsed);
  interrupted = interrupted || other.interrupted;
}

std::string BenchText(const BenchOptions& options, const BenchResult& result) {
  std::string text = absl::StrFormat(
      "%s, blocks of %s, depth %d on %d queue%s, %s%s\n", std::string(AccessName(options.access)),
      HumanSize(options.block_bytes), options.depth, options.queues, options.queues == 1 ? "" : "s",
      HumanDuration(result.elapsed), result.interrupted ? " (interrupted)" : "");
  absl::StrAppendFormat(&text, "%-6s %10s %10s %14s %9s %9s %9s %9s %9s %9s %9s\n", "", "ops",
                        "IOPS", "bandwidth", "min", "mean", "p50", "p90", "p99", "p99.9", "max");
  if (options.access.read_percent > 0) {
    text += Row("read", result.reads, options, result.elapsed);
  }
  if (options.access.writes()) text += Row("write", result.writes, options, result.elapsed);
  if (options.access.read_percent > 0 && options.access.writes()) {
    text += Row("all", Both(result), options, result.elapsed);
  }
  if (options.verify) {
    absl::StrAppend(&text, "verified ", result.checked_blocks, " blocks, ", result.mismatches,
                    " of them wrong", result.mismatches > 0 ? ", which ended it" : "", "\n");
  }
  for (const std::string& sample : result.mismatch_samples) {
    absl::StrAppend(&text, "  ", sample, "\n");
  }
  if (result.errors > 0) absl::StrAppend(&text, result.errors, " operations failed\n");
  for (const std::string& sample : result.error_samples) {
    absl::StrAppend(&text, "  ", sample, "\n");
  }
  return text;
}

nlohmann::ordered_json BenchJson(const BenchOptions& options, const BenchResult& result) {
  Json json;
  json["uri"] = options.uri;
  json["rw"] = std::string(AccessName(options.access));
  json["read_percent"] = options.access.read_percent;
  json["block_bytes"] = options.block_bytes;
  json["depth"] = options.depth;
  json["queues"] = options.queues;
  json["queue_size"] = options.queue_size;
  json["seed"] = absl::StrCat(options.seed);  // may exceed what a number of JSON holds exactly
  json["elapsed_s"] =
      static_cast<double>(result.elapsed) / static_cast<double>(kNanosecondsPerSecond);
  json["interrupted"] = result.interrupted;
  json["read"] = DirectionJson(result.reads, options, result.elapsed);
  json["write"] = DirectionJson(result.writes, options, result.elapsed);
  json["total"] = DirectionJson(Both(result), options, result.elapsed);
  json["errors"] = result.errors;
  json["error_samples"] = Json(result.error_samples);
  Json verify;
  verify["enabled"] = options.verify;
  verify["checked_blocks"] = result.checked_blocks;
  verify["mismatches"] = result.mismatches;
  verify["mismatch_samples"] = Json(result.mismatch_samples);
  json["verify"] = std::move(verify);
  return json;
}

}  // namespace vof
