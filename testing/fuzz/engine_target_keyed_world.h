// SPDX-License-Identifier: Apache-2.0
//
// A target with a small memory disk, and connections of the in-process fabric whose every message
// comes from a fuzzer.
//
//   FuzzKeyedTargetWorld<V5> world(script_data);
//   world.Run();                    // plays the events, ends, checks what is left
//
// The first byte of the input chooses: whether a session is already set up on the first two
// connections, what happens late, how much memory there is.
#ifndef VOF_TESTING_FUZZ_ENGINE_TARGET_KEYED_WORLD_H_
#define VOF_TESTING_FUZZ_ENGINE_TARGET_KEYED_WORLD_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/engine/target_messages.h"
#include "core/transport/region_map.h"
#include "core/wire/codec.h"
#include "testing/fuzz/engine_message_lane.h"
#include "testing/fuzz/engine_script.h"
#include "testing/fuzz/engine_target_parts.h"

namespace vof {

template <Codec C>
class FuzzKeyedTargetWorld {
 public:
  explicit FuzzKeyedTargetWorld(std::span<const std::byte> data)
      : setup_(data.empty() ? 0 : std::to_integer<unsigned>(data[0])),
        script_(data.empty() ? data : data.subspan(1)),
        parts_(setup_) {
    auto pool = domain_.Register(parts_.pool.slab(), Access::kLocal);
    Check(pool.ok() && regions_.Add(*std::move(pool)), "the pool is registered");
    if ((setup_ & 1) != 0) SetUpSession();
  }

  void Run() {
    for (FuzzEvent event; script_.Next(&event);) {
      Play(event);
      RunAll();
    }
    for (auto& lane : lanes_) {
      if (lane != nullptr) lane->End(now_);
    }
    RunAll();
    for (auto& lane : lanes_) lane.reset();
    parts_.CheckGone();
  }

 private:
  static constexpr size_t kLanes = 4;
  static constexpr int kMostConnections = 12;  // with one of a lane after the other; they are dear

  FuzzMessageLane& Lane(size_t index) {
    auto& lane = lanes_[index % kLanes];
    const bool may_renew = num_made_ < kMostConnections;
    if (lane != nullptr && lane->finished() && may_renew) lane.reset();
    if (lane == nullptr) {
      ++num_made_;
      FabricFaults faults{.seed = setup_};
      if ((setup_ & 2) != 0) faults.longest_effect_delay_turns = 5;
      if ((setup_ & 4) != 0) faults.longest_completion_delay_turns = 5;
      if ((setup_ & 64) != 0) faults.again_every_posts = 3;
      lane = std::make_unique<FuzzMessageLane>(
          std::make_unique<TargetMessages>(EngineHost{&parts_.executor, &parts_.pool},
                                           KeyedHost{.regions = &regions_}, &parts_.directory,
                                           PeerIdentity{"192.0.2.1", 0, {}}, now_),
          &memory_, &domain_, faults);
    }
    return *lane;
  }

  void Play(const FuzzEvent& event) {
    switch (event.code) {
      case 1:
        now_ += static_cast<Nanoseconds>(event.number() % (20ull * kNanosecondsPerSecond));
        return;
      case 2:
        return Lane(event.lane).set_keeps_receives((event.number() & 1) != 0);
      case 3:
        return Lane(event.lane).Close();
      case 4:
        // An error (too small, too large) leaves the disk as it is.
        (void)parts_.device->Resize(512 * (1 + event.number() % 256));
        return;
      case 5:
        return static_cast<TargetMessages&>(Lane(event.lane).engine()).endpoint().BeginDrain();
      case 6:
        return parts_.TakeMemory(event.number() % (64u << 10));
      case 7:
        return parts_.taken_memory.clear();
      case 9:
        return memory_.RegisterAgain();
      case 10:
        return Lane(event.lane).SendImmediate(static_cast<uint32_t>(event.number()));
      case 11:  // what is read from now on
        std::copy_n(event.bytes.begin(), std::min(event.bytes.size(), memory_.shown().size()),
                    memory_.shown().begin());
        return;
      case 12:
        return Lane(event.lane).Reach({event.number(), 64, 0}, (event.lane & 8) != 0);
      default:
        return Lane(event.lane).Send(event.bytes);
    }
  }

  void RunAll() {
    for (int idle = 0; idle <= FuzzMessageLane::kLongestDelayTurns; ++idle) {
      bool moved = parts_.executor.RunAll();
      for (auto& lane : lanes_) {
        if (lane != nullptr) moved |= lane->Turn(now_);
      }
      if (moved) idle = 0;
    }
  }

  void SetUpSession() {
    (void)EncodeConnectBody(C::kDialect, FuzzConnectBody(),
                            memory_.shown().template first<kConnectBodyBytes>());
    uint64_t features = transport_feature::kCredit | transport_feature::kNumQueues;
    if ((setup_ & 32) != 0) features |= transport_feature::kInline;
    SetUpFuzzSession<C>(parts_, features, [this](size_t lane, Command command) {
      std::vector<std::byte> bytes(kHeaderBytes);
      command.transmission = Transmission::kKeyed;
      C::EncodeCommand(command, HeaderOut(bytes.data(), kHeaderBytes));
      if (command.kind == CommandKind::kConnect) {
        bytes.resize(kHeaderBytes + C::kDescriptorBytes);
        C::EncodeSegment(
            Segment{.length_bytes = kConnectBodyBytes, .key = FuzzPeerMemory::kKeyMark},
            std::span(bytes).subspan(kHeaderBytes));
      }
      Lane(lane).Send(bytes);
      RunAll();
      Lane(lane).TakeMessages();
    });
  }

  const unsigned setup_;
  FuzzScript script_;
  MonotonicTime now_ = kNanosecondsPerSecond;
  FuzzTargetParts parts_;
  FuzzPeerMemory memory_;
  FabricDomain domain_{FuzzDomainOptions(2)};
  RegionMap regions_;
  int num_made_ = 0;
  std::array<std::unique_ptr<FuzzMessageLane>, kLanes> lanes_;
};

}  // namespace vof

#endif  // VOF_TESTING_FUZZ_ENGINE_TARGET_KEYED_WORLD_H_
