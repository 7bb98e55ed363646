// SPDX-License-Identifier: Apache-2.0
//
// A target with a small memory disk, whatever its connections are: for the worlds of the fuzzers.
//
//   FuzzTargetParts parts(setup);                 // the first byte of the input
//   parts.TakeMemory(1000);                       // leaves so much
//   SetUpFuzzSession<V5>(parts, features, [](size_t lane, const Command& command) { ... });
//   parts.CheckGone();
#ifndef VOF_TESTING_FUZZ_ENGINE_TARGET_PARTS_H_
#define VOF_TESTING_FUZZ_ENGINE_TARGET_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/executor.h"
#include "core/engine/target_directory.h"
#include "core/memory/buffer_pool.h"
#include "core/wire/codec.h"
#include "core/wire/connect_body.h"
#include "devices/blk/blk_device.h"
#include "devices/blk/store_memory.h"

namespace vof {

class FuzzExecutor final : public Executor {
 public:
  void Post(std::function<void()> work) override { work_.push_back(std::move(work)); }
  bool RunAll() {
    bool any = false;
    for (; !work_.empty(); any = true) {
      const std::function<void()> work = std::move(work_.front());
      work_.pop_front();
      work();
    }
    return any;
  }

 private:
  std::deque<std::function<void()>> work_;
};

struct FuzzTargetParts {
  explicit FuzzTargetParts(unsigned setup) : pool(kMinPoolBytes), directory(Options(setup)) {
    auto store = MakeMemoryStore(
        {.size_bytes = 64u << 10, .max_size_bytes = 1u << 20, .huge_pages = HugePages::kOff});
    BlkOptions options;
    options.num_queues = 2;
    options.max_queue_size = 8;
    device = *MakeBlkDevice(options, *store);
    Check(directory.AddDevice("disk", device).ok(), "the name is free");
  }

  static TargetOptions Options(unsigned setup) {
    TargetOptions options;
    options.max_instances = 2;
    options.max_connections = 3;
    if ((setup & 8) != 0) options.max_session_bytes = 1024;
    if ((setup & 16) != 0) options.max_out_bytes = options.max_in_bytes = 2048;
    return options;
  }

  void TakeMemory(size_t left_bytes) {
    for (size_t size = size_t{8} << 20; size >= 512; size /= 2) {
      while (pool.limit_bytes() - pool.in_use_bytes() >= left_bytes + size) {
        PoolBuffer buffer = pool.Allocate(size);
        if (!buffer) break;
        taken_memory.push_back(std::move(buffer));
      }
    }
  }
  // After the connections.
  void CheckGone() {
    taken_memory.clear();
    executor.RunAll();
    Check(directory.num_instances() == 0, "every instance goes with its connections");
    Check(directory.num_connections() == 0, "every connection is counted once");
    Check(pool.in_use_bytes() == 0, "all memory is back in the pool");
    Check(!pool.has_waiters(), "nobody waits for memory");
  }

  FuzzExecutor executor;
  BufferPool pool;
  std::vector<PoolBuffer> taken_memory;
  TargetDirectory directory;
  std::shared_ptr<BlkDevice> device;
};

inline ConnectBody FuzzConnectBody() {
  return {.initiator_name = "host", .target_name = "disk", .token = {}};
}

// A session that is ready: control queue on lane 0 and one virtqueue on lane 1. `send` waits for
// the answer.
template <Codec C, typename Send>
void SetUpFuzzSession(const FuzzTargetParts& parts, uint64_t transport_features, const Send& send) {
  Command connect;
  connect.kind = CommandKind::kConnect;
  connect.body_length = kConnectBodyBytes;
  connect.ndesc = 1;
  connect.instance_id = kControlInstanceId;
  send(0, connect);
  Command command;
  if (C::kDialect == Dialect::kV5) {
    command.kind = CommandKind::kSetFeature;
    command.value = transport_features;
    send(0, command);
  }
  command = {};
  command.kind = CommandKind::kSetDriverFeature;
  command.value = parts.device->features() | (C::kDialect == Dialect::kV5 ? kFeatureVersion1 : 0);
  send(0, command);
  connect.instance_id = 0;
  send(1, connect);
  command = {};
  command.kind = CommandKind::kSetStatus;
  for (uint32_t status : {1u, 3u, 11u, 15u}) {
    command.value = status;
    send(0, command);
  }
}

}  // namespace vof

#endif  // VOF_TESTING_FUZZ_ENGINE_TARGET_PARTS_H_
