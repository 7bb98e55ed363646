// SPDX-License-Identifier: Apache-2.0
//
// The reactors of a target and the connections on them. For target.cc only.
//
//   auto shards = TargetShards::Start(options);
//   (*shards)->Accept(std::move(link));              // on the listener's reactor
//   while (shards->num_connections() > 0) { shards->DrainSome(limit); shards->WaitForAnEnd(); }
//   shards->Shutdown();
//
// Apart from TargetServer because connections may outlive it: a device that does not complete its
// requests keeps their memory, the reactor that polls it, and the directory.
#ifndef VOF_CORE_RUNTIME_TARGET_SHARDS_H_
#define VOF_CORE_RUNTIME_TARGET_SHARDS_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/time.h"
#include "core/engine/lent_regions.h"
#include "core/engine/queue_engine.h"
#include "core/engine/target_directory.h"
#include "core/engine/target_endpoint.h"
#include "core/runtime/backend.h"
#include "core/runtime/lent_registrations.h"
#include "core/runtime/reactor_pulse.h"
#include "core/runtime/reactor_thread.h"
#include "core/runtime/target_counters.h"
#include "core/runtime/target_options.h"

namespace vof {

class TargetShards {
 public:
  static absl::StatusOr<std::unique_ptr<TargetShards>> Start(const TargetServerOptions& options);
  ~TargetShards();  // after Shutdown, or when nothing was ever accepted

  TargetDirectory& directory() { return directory_; }
  LentRegistrations& lent() { return lent_; }
  ReactorThread* listening_thread() { return shards_[0]->thread.get(); }
  void Accept(std::unique_ptr<Link> link);
  // Those on their way to a reactor included.
  size_t num_connections() const;
  uint64_t num_ended() const { return num_ended_.load(); }
  TargetCounters Counters();
  const std::shared_ptr<ReactorPulse>& pulse() const { return pulse_; }
  // Does not wait for it.
  void TrimPools();

  // One step of a drain: begins it where it can begin, closes what has ended.
  void DrainSome(Nanoseconds stall_timeout);
  void CloseAll();
  // Returns soon, at the latest when it is time to look again.
  void WaitForAnEnd();
  // Reports the connections that devices hold; the observer is not called any more.
  void GiveUp();
  // Stops the reactors. There is no connection left.
  void Shutdown();

 private:
  // One reactor and what it serves. All but the atomics belong to the reactor's thread.
  struct Served {
    std::unique_ptr<Connection> connection;  // null once the reactor has it
    QueueEngine* engine = nullptr;
    TargetEndpoint* endpoint = nullptr;
    // It has ended by a drain, nobody waits for an answer: the transport need not linger.
    bool drained_idle() const { return engine->finished() && endpoint->drained_idle(); }
  };
  struct Shard {
    std::unique_ptr<ReactorThread> thread;
    std::atomic<int> load{0};
    std::atomic<size_t> num_connections{0};
    std::unordered_map<Connection*, Served> connections;
    TargetCounters counters;
    TargetObserver observer;
  };

  explicit TargetShards(const TargetServerOptions& options)
      : lent_(options.most_lent_bytes), directory_(options.limits) {}
  Shard* LeastLoaded();
  void Attach(Shard* shard, std::unique_ptr<Link> link);
  absl::StatusOr<Served> MakeEngine(Shard* shard, Link* link);
  // kResourceExhausted: no memory.
  absl::StatusOr<Served> TryMakeEngine(Shard* shard, Link* link);
  static void Report(Shard* shard, const TargetEvent& event);
  LendMemoryFunction LendTo(Shard* shard, std::shared_ptr<Domain> domain);
  void OnEnded(Shard* shard, int weight);
  // Runs `work` on each reactor in turn.
  void OnEach(const std::function<void(Shard*)>& work);

  LentRegistrations lent_;
  TargetDirectory directory_;
  const std::shared_ptr<ReactorPulse> pulse_ = std::make_shared<ReactorPulse>();
  std::vector<std::unique_ptr<Shard>> shards_;
  std::atomic<size_t> next_shard_{0};
  std::atomic<uint64_t> num_ended_{0};  // connections
  std::mutex mutex_;
  std::condition_variable connection_ended_;  // a hint: waiters look again anyway
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_TARGET_SHARDS_H_
