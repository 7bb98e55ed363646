// SPDX-License-Identifier: Apache-2.0
//
// A target with a small memory disk, and connections whose every byte comes from a fuzzer.
//
//   FuzzTargetWorld<V5> world(script_data);
//   world.Run();                    // plays the events, ends, checks what is left
//
// The first byte of the input chooses: whether a session is already set up on the first two
// connections, the size of the receive buffer, how much memory there is.
#ifndef VOF_TESTING_FUZZ_ENGINE_TARGET_WORLD_H_
#define VOF_TESTING_FUZZ_ENGINE_TARGET_WORLD_H_

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/engine/target_connection.h"
#include "core/engine/target_directory.h"
#include "core/wire/codec.h"
#include "core/wire/connect_body.h"
#include "devices/blk/blk_device.h"
#include "devices/blk/store_memory.h"
#include "testing/fuzz/engine_driver.h"
#include "testing/fuzz/engine_script.h"

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

template <Codec C>
class FuzzTargetWorld {
 public:
  explicit FuzzTargetWorld(std::span<const std::byte> data)
      : setup_(data.empty() ? 0 : std::to_integer<unsigned>(data[0])),
        script_(data.empty() ? data : data.subspan(1)),
        pool_(kMinPoolBytes),
        directory_(Options(setup_)) {
    auto store = MakeMemoryStore(
        {.size_bytes = 64u << 10, .max_size_bytes = 1u << 20, .huge_pages = HugePages::kOff});
    BlkOptions options;
    options.num_queues = 2;
    options.max_queue_size = 8;
    device_ = *MakeBlkDevice(options, *store);
    Check(directory_.AddDevice("disk", device_).ok(), "the name is free");
    if ((setup_ & 1) != 0) SetUpSession();
  }

  void Run() {
    for (FuzzEvent event; script_.Next(&event);) {
      Play(event);
      RunAll();
    }
    for (auto& connection : connections_) {
      if (connection != nullptr) connection->End(now_);
    }
    RunAll();
    for (auto& connection : connections_) connection.reset();
    taken_memory_.clear();
    executor_.RunAll();
    Check(directory_.num_instances() == 0, "every instance goes with its connections");
    Check(directory_.num_connections() == 0, "every connection is counted once");
    Check(pool_.in_use_bytes() == 0, "all memory is back in the pool");
    Check(!pool_.has_waiters(), "nobody waits for memory");
  }

 private:
  static constexpr size_t kConnections = 4;

  static TargetOptions Options(unsigned setup) {
    TargetOptions options;
    options.max_instances = 2;
    options.max_connections = 3;
    if ((setup & 8) != 0) options.max_session_bytes = 1024;
    if ((setup & 16) != 0) options.max_out_bytes = options.max_in_bytes = 2048;
    return options;
  }

  FuzzDriver& Connection(size_t lane) {
    auto& connection = connections_[lane % kConnections];
    if (connection != nullptr && connection->closed() && connection->engine().finished()) {
      connection.reset();
    }
    if (connection == nullptr) {
      static constexpr std::array<size_t, 4> kScratchBytes = {65536, 1100, 64, 300};
      connection = std::make_unique<FuzzDriver>(
          std::make_unique<TargetConnection>(EngineHost{&executor_, &pool_}, &directory_,
                                             PeerIdentity{"192.0.2.1", 0, {}}, now_),
          kScratchBytes[setup_ >> 1 & 3]);
    }
    return *connection;
  }

  void Play(const FuzzEvent& event) {
    switch (event.code) {
      case 1:
        now_ += static_cast<Nanoseconds>(event.number() % (20ull * kNanosecondsPerSecond));
        return;
      case 2:
        return Connection(event.lane).set_room(event.number());
      case 3:
        return Connection(event.lane).Close(CloseReason::kPeerClosed, now_);
      case 4:
        // An error (too small, too large) leaves the disk as it is.
        (void)device_->Resize(512 * (1 + event.number() % 256));
        return;
      case 5:
        return static_cast<TargetConnection&>(Connection(event.lane).engine())
            .endpoint()
            .BeginDrain();
      case 6:
        TakeMemory(event.number() % (64u << 10));
        return;
      case 7:
        taken_memory_.clear();
        return;
      default:
        return Connection(event.lane).Feed(event.bytes, now_);
    }
  }

  void TakeMemory(size_t left_bytes) {
    for (size_t size = size_t{8} << 20; size >= 512; size /= 2) {
      while (pool_.limit_bytes() - pool_.in_use_bytes() >= left_bytes + size) {
        PoolBuffer buffer = pool_.Allocate(size);
        if (!buffer) break;
        taken_memory_.push_back(std::move(buffer));
      }
    }
  }

  void RunAll() {
    for (bool moved = true; moved;) {
      moved = executor_.RunAll();
      for (auto& connection : connections_) {
        if (connection != nullptr) moved |= connection->Turn(now_);
      }
    }
  }

  // --- A session that is ready: control queue and one virtqueue ---
  void Send(size_t lane, const Command& command) {
    std::vector<std::byte> bytes(kHeaderBytes);
    C::EncodeCommand(command, HeaderOut(bytes.data(), kHeaderBytes));
    if (command.kind == CommandKind::kConnect) {
      if constexpr (C::kSegmentedStreams) {
        bytes.resize(kHeaderBytes + C::kDescriptorBytes);
        C::EncodeSegment(Segment{.length_bytes = kConnectBodyBytes},
                         std::span(bytes).subspan(kHeaderBytes));
      }
      bytes.resize(bytes.size() + kConnectBodyBytes);
      const ConnectBody body{.initiator_name = "host", .target_name = "disk", .token = {}};
      (void)EncodeConnectBody(C::kDialect, body,
                              std::span(bytes).template last<kConnectBodyBytes>());
    }
    Connection(lane).Feed(bytes, now_);
    RunAll();
    Connection(lane).TakeOutput();
  }
  void SetUpSession() {
    Command connect;
    connect.kind = CommandKind::kConnect;
    connect.body_length = kConnectBodyBytes;
    connect.ndesc = 1;
    connect.instance_id = kControlInstanceId;
    Send(0, connect);
    Command command;
    if (C::kDialect == Dialect::kV5) {
      command.kind = CommandKind::kSetFeature;
      command.value = transport_feature::kCredit | transport_feature::kNumQueues;
      Send(0, command);
    }
    command = {};
    command.kind = CommandKind::kSetDriverFeature;
    command.value = device_->features() | (C::kDialect == Dialect::kV5 ? kFeatureVersion1 : 0);
    Send(0, command);
    connect.instance_id = 0;
    Send(1, connect);
    command = {};
    command.kind = CommandKind::kSetStatus;
    for (uint32_t status : {1u, 3u, 11u, 15u}) {
      command.value = status;
      Send(0, command);
    }
  }

  const unsigned setup_;
  FuzzScript script_;
  MonotonicTime now_ = kNanosecondsPerSecond;
  FuzzExecutor executor_;
  BufferPool pool_;
  std::vector<PoolBuffer> taken_memory_;
  TargetDirectory directory_;
  std::shared_ptr<BlkDevice> device_;
  std::array<std::unique_ptr<FuzzDriver>, kConnections> connections_;
};

}  // namespace vof

#endif  // VOF_TESTING_FUZZ_ENGINE_TARGET_WORLD_H_
