// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/bench/bench_options.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tools/common/size.h"
#include "tools/vof/bench/block_stamp.h"
#include "tools/vof/bench/verify_ledger.h"

namespace vof {
namespace {

absl::Status Wrong(std::string_view flag, uint64_t value, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(flag), " ", value, ": ", std::string(why)));
}

absl::Status CheckBlockSize(const BenchOptions& options, const BenchDevice& device) {
  if (options.block_bytes == 0) {
    return Wrong("--bs", 0,
                 absl::StrCat("an operation has bytes: a multiple of the device's block size, ",
                              device.block_bytes, " bytes"));
  }
  if (options.block_bytes % device.block_bytes != 0) {
    return Wrong(
        "--bs", options.block_bytes,
        absl::StrCat("not a multiple of the device's block size, ", device.block_bytes, " bytes"));
  }
  if (options.block_bytes > device.max_request_bytes) {
    return Wrong("--bs", options.block_bytes,
                 absl::StrCat("a request carries at most ", device.max_request_bytes, " bytes (",
                              HumanSize(device.max_request_bytes), ")"));
  }
  if (options.depth * options.block_bytes > kMaxBenchBufferBytes) {
    return Wrong("--depth", options.depth,
                 absl::StrCat("with blocks of ", HumanSize(options.block_bytes),
                              " a queue would need more than the limit of ",
                              HumanSize(kMaxBenchBufferBytes), " of buffers"));
  }
  return absl::OkStatus();
}

absl::Status CheckVerify(const BenchOptions& options, const BenchPlan& plan) {
  if (!options.verify) return absl::OkStatus();
  // One block more than requests: the ledger always finds one that is free.
  if (plan.blocks_per_queue <= options.depth) {
    return Wrong(
        "--depth", options.depth,
        absl::StrCat("--verify needs more blocks than requests in flight, and a queue has ",
                     plan.blocks_per_queue, " of them; use a larger --size"));
  }
  if (plan.blocks_per_queue > VerifyLedger::kMaxBlocks) {
    return Wrong("--size", plan.num_blocks * options.block_bytes,
                 absl::StrCat("--verify keeps track of at most ", VerifyLedger::kMaxBlocks,
                              " blocks per queue; use a smaller --size or a larger --bs"));
  }
  return absl::OkStatus();
}

bool IsAccess(std::string_view name) {
  for (const std::string_view known : {"read", "write", "randread", "randwrite", "rw", "randrw"}) {
    if (name == known) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<AccessPattern> ParseAccess(std::string_view name, std::optional<int> mix_percent) {
  const bool is_mixed = name == "rw" || name == "randrw";
  if (mix_percent && !is_mixed && IsAccess(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", std::string(name), "\" has no mix of reads and writes: --mix is for rw and randrw"));
  }
  if (name == "read") return AccessPattern{false, 100};
  if (name == "write") return AccessPattern{false, 0};
  if (name == "randread") return AccessPattern{true, 100};
  if (name == "randwrite") return AccessPattern{true, 0};
  if (is_mixed) return AccessPattern{name == "randrw", mix_percent.value_or(kDefaultMixPercent)};
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", std::string(name), "\" is none of read, write, randread, randwrite, rw, randrw"));
}

std::string DepthNote(const BenchOptions& options) {
  if (options.queue_size == 0 || options.depth <= options.queue_size) return "";
  return absl::StrCat("--depth ", options.depth, " is more than a virtqueue of ", options.uri,
                      " holds: at most ", options.queue_size,
                      " operations are in flight on each queue, and the latencies count the time "
                      "that the others wait for their turn");
}

std::string_view AccessName(const AccessPattern& access) {
  if (access.read_percent == 100) return access.random ? "randread" : "read";
  if (access.read_percent == 0) return access.random ? "randwrite" : "write";
  return access.random ? "randrw" : "rw";
}

absl::StatusOr<BenchPlan> PlanBench(const BenchOptions& options, const BenchDevice& device) {
  if (options.access.writes() && device.read_only) {
    return absl::UnimplementedError(absl::StrCat(
        options.uri, " is read-only: --rw ", std::string(AccessName(options.access)), " writes"));
  }
  if (const absl::Status bad = CheckBlockSize(options, device); !bad.ok()) return bad;
  const uint64_t span_bytes = options.span_bytes.value_or(device.capacity_bytes);
  if (span_bytes > device.capacity_bytes) {
    return Wrong("--size", span_bytes,
                 absl::StrCat("the device has only ", device.capacity_bytes, " bytes (",
                              HumanSize(device.capacity_bytes), ")"));
  }
  BenchPlan plan;
  plan.num_blocks = span_bytes / options.block_bytes;
  plan.partitioned = options.verify || !options.access.random;
  plan.blocks_per_queue = plan.partitioned ? plan.num_blocks / options.queues : plan.num_blocks;
  if (plan.blocks_per_queue == 0) {
    return Wrong("--size", span_bytes,
                 options.queues == 1
                     ? absl::StrCat("holds no block of ", options.block_bytes, " bytes")
                     : absl::StrCat("holds fewer blocks of ", options.block_bytes,
                                    " bytes than the ", options.queues, " queues"));
  }
  if (const absl::Status bad = CheckVerify(options, plan); !bad.ok()) return bad;
  return plan;
}

}  // namespace vof
