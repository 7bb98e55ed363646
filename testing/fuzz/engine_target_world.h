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
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/engine/target_connection.h"
#include "core/wire/codec.h"
#include "core/wire/connect_body.h"
#include "testing/fuzz/engine_driver.h"
#include "testing/fuzz/engine_script.h"
#include "testing/fuzz/engine_target_parts.h"

namespace vof {

template <Codec C>
class FuzzTargetWorld {
 public:
  explicit FuzzTargetWorld(std::span<const std::byte> data)
      : setup_(data.empty() ? 0 : std::to_integer<unsigned>(data[0])),
        script_(data.empty() ? data : data.subspan(1)),
        parts_(setup_) {
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
    parts_.CheckGone();
  }

 private:
  static constexpr size_t kConnections = 4;

  FuzzDriver& Connection(size_t lane) {
    auto& connection = connections_[lane % kConnections];
    if (connection != nullptr && connection->closed() && connection->engine().finished()) {
      connection.reset();
    }
    if (connection == nullptr) {
      static constexpr std::array<size_t, 4> kScratchBytes = {65536, 1100, 64, 300};
      connection = std::make_unique<FuzzDriver>(
          std::make_unique<TargetConnection>(EngineHost{&parts_.executor, &parts_.pool},
                                             &parts_.directory, PeerIdentity{"192.0.2.1", 0, {}},
                                             now_),
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
        (void)parts_.device->Resize(512 * (1 + event.number() % 256));
        return;
      case 5:
        return static_cast<TargetConnection&>(Connection(event.lane).engine())
            .endpoint()
            .BeginDrain();
      case 6:
        return parts_.TakeMemory(event.number() % (64u << 10));
      case 7:
        return parts_.taken_memory.clear();
      default:
        return Connection(event.lane).Feed(event.bytes, now_);
    }
  }

  void RunAll() {
    for (bool moved = true; moved;) {
      moved = parts_.executor.RunAll();
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
      (void)EncodeConnectBody(C::kDialect, FuzzConnectBody(),
                              std::span(bytes).template last<kConnectBodyBytes>());
    }
    Connection(lane).Feed(bytes, now_);
    RunAll();
    Connection(lane).TakeOutput();
  }
  void SetUpSession() {
    SetUpFuzzSession<C>(parts_, transport_feature::kCredit | transport_feature::kNumQueues,
                        [this](size_t lane, const Command& command) { Send(lane, command); });
  }

  const unsigned setup_;
  FuzzScript script_;
  MonotonicTime now_ = kNanosecondsPerSecond;
  FuzzTargetParts parts_;
  std::array<std::unique_ptr<FuzzDriver>, kConnections> connections_;
};

}  // namespace vof

#endif  // VOF_TESTING_FUZZ_ENGINE_TARGET_WORLD_H_
