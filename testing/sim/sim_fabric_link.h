// SPDX-License-Identifier: Apache-2.0
//
// A connection of the simulated fabric: what two ends have posted, and when it happens in virtual
// time. SimChannel is the handle of one end.
//
//   link->Post(SimWire::kTarget, SimPostKind::kStore, local, remote, 0, tag);
//   link->Flush(SimWire::kTarget);
//   link->Run();                               // all that is due by now
//   now = link->NextTime();
//
// As a reliable connected queue pair: sends arrive in order, and behind the stores posted before
// them, which may land at any time until then; a fetch is done at any time until it is reported.
// Reports come in the order of posting, late, of sends and stores also before they arrive. A
// message without a receive waits and holds back what is behind it. A key that does not allow an
// access breaks the connection, and so does the plan. It keeps watch over the posted buffers:
// nobody may change them until they are reported. One thread.
#ifndef VOF_TESTING_SIM_SIM_FABRIC_LINK_H_
#define VOF_TESTING_SIM_SIM_FABRIC_LINK_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/transport/message_channel.h"
#include "testing/sim/sim_context.h"
#include "testing/sim/sim_domain.h"
#include "testing/sim/sim_receives.h"
#include "testing/sim/sim_wire.h"

namespace vof {

enum class SimPostKind : uint8_t { kSend, kFetch, kStore, kStoreWithImmediate };

// Sees what is posted, before it happens: in the order of each end.
class FabricObserver {
 public:
  virtual ~FabricObserver() = default;
  virtual void OnSend(int from_side, std::span<const std::byte> message) = 0;
  virtual void OnFetch(const RemoteBuffer& remote) = 0;
  virtual void OnStore(const RemoteBuffer& remote) = 0;
  // Whether requests travel on it.
  virtual bool is_virtqueue() const = 0;
};

class SimFabricLink final : public SimWire {
 public:
  // Both domains outlive it. `hostile`: the initiator may show keys that are wrong.
  SimFabricLink(SimContext* context, std::array<SimDomain*, 2> domains,
                std::shared_ptr<FabricObserver> observer, bool hostile);

  // --- The ends (message_channel.h) ---
  const ChannelLimits& limits() const { return limits_; }
  void SetReceiveDepth(int side, int count);
  void ReturnReceive(int side, uint64_t tag);
  PostStatus Post(int side, SimPostKind kind, std::span<const LocalBuffer> local,
                  const RemoteBuffer& remote, uint32_t immediate, uint64_t tag);
  void Flush(int side);
  std::span<ChannelEvent> Reap(int side, std::span<ChannelEvent> events);
  bool Arm(int side);
  void Close(int side);
  // The handle is gone: nothing touches the memory of this side any more.
  void Leave(int side);
  bool drained(int side) const { return ends_[side].closed && ends_[side].num_owed() == 0; }

  // --- Time ---
  void Run();
  MonotonicTime NextTime() const { return next_time_; }
  bool over() const { return ends_[0].left && ends_[1].left; }

  // --- SimWire ---
  bool CanRead(int side) const override { return HasEvent(ends_[side]); }
  bool CanWrite(int) const override { return false; }  // full queues are a matter of events
  void Break() override;
  void Blackhole() override { swallows_ = true; }

  // --- What an end has, for checks ---
  int num_receives_posted(int side) const { return ends_[side].receives.num_posted(); }
  int num_sends_under_way(int side) const;
  FabricObserver* observer() const { return observer_.get(); }

 private:
  struct Send {  // a post of any kind
    SimPostKind kind = SimPostKind::kSend;
    uint64_t tag = 0;
    LocalBuffer local;
    RemoteBuffer remote;
    uint32_t immediate = 0;
    std::vector<std::byte> bytes;  // of the local buffer, as they have to be
    bool is_copied = false;        // the local buffer is not used any more
    MonotonicTime effect_at = 0;
    MonotonicTime report_at = 0;
    bool may_report_early = false;  // before it has happened
    bool flushed = false;
    bool done = false;  // happened, or never will
    bool ok = true;
  };
  struct End {
    SimDomain* domain = nullptr;
    SimReceives receives;
    std::deque<Send> sends;                         // not done, or not reported
    size_t num_reported = 0;                        // of them
    MonotonicTime disconnect_at = kInfiniteFuture;  // when it is told
    MonotonicTime again_until = kInfiniteFuture;    // kAgain without a reason ends then
    uint64_t cut_after_posts = 0;                   // 0: never
    uint64_t num_posts = 0;
    bool broken = false;  // what it posts fails
    bool told = false;    // of the end
    bool closed = false;
    bool left = false;

    size_t num_owed() const { return sends.size() - num_reported; }
  };

  static bool TakesReceive(SimPostKind kind) {
    return kind == SimPostKind::kSend || kind == SimPostKind::kStoreWithImmediate;
  }
  MonotonicTime Soon(Nanoseconds longest) const;
  MonotonicTime EventTime() const { return Soon(context_->plan.fabric.longest_event_delay); }
  // --- Posting ---
  void Show(int side, const Send& send);
  void Guard(Send* send);
  void CheckUnchanged(const End& end, const Send& send);
  // --- Happening. Each is false when the connection broke ---
  bool Progress(int side);
  bool LandStoresBefore(int side, size_t index);
  bool Do(int side, Send& send);
  bool Move(int side, Send& send);
  bool Resolve(int side, const Send& send, Access access, std::byte** place);
  // --- Reporting ---
  bool HasEvent(const End& end) const;
  static MonotonicTime ReportTime(const End& end);
  MonotonicTime DisconnectTime(const End& end) const;
  void Report(End& end, ChannelEvent* event);
  // --- Endings ---
  void Refuse(int side, const std::string& what, bool excused);
  void DoSome(int side);
  void Abort(int side);
  void FailFrom(End& end, size_t first);
  void TellPeerOf(int side);
  void Schedule();
  MonotonicTime NextTimeOf(int side) const;

  SimContext* const context_;
  const std::shared_ptr<FabricObserver> observer_;
  const bool hostile_;
  ChannelLimits limits_;
  std::array<End, 2> ends_;
  MonotonicTime next_time_ = kInfiniteFuture;
  bool broken_ = false;
  bool swallows_ = false;
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_FABRIC_LINK_H_
