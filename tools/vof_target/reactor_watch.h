// SPDX-License-Identifier: Apache-2.0
//
// Ends a target whose reactors hang: sessions that get no answer and cannot even be closed are
// worse for everybody than a process that ends, says why, and is started again by whoever manages
// it.
//
//   ReactorWatch watch({.timeout = Milliseconds(60'000),
//                       .ask = [pulse] { return pulse->Ask(); },
//                       .on_event = [](const ReactorWatch::Event& event) { ... }});
//
// It also looks while the target drains, when main waits for the reactors. `on_event` is called on
// a thread of the watch's own, until its destructor returns.
#ifndef VOF_TOOLS_VOF_TARGET_REACTOR_WATCH_H_
#define VOF_TOOLS_VOF_TARGET_REACTOR_WATCH_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/base/time.h"
#include "core/runtime/reactor_pulse.h"

namespace vof {

enum class ReactorEvent : uint8_t {
  kHangs,     // told once
  kGoesOn,    // it was told that it hangs
  kHangsOut,  // for as long as is allowed
};

// What to say and when, of the answers of ReactorPulse::Ask at equal intervals.
class ReactorJudge {
 public:
  // A reactor may owe its answer for `timeout`; 0: for ever.
  explicit ReactorJudge(Nanoseconds timeout);

  Nanoseconds interval() const { return interval_; }  // between two questions
  // For how long it has hung, about; at most the timeout.
  Nanoseconds TimeOf(const ReactorPulse::Answer& slowest) const;
  std::optional<ReactorEvent> Judge(const ReactorPulse::Answer& slowest);

 private:
  const Nanoseconds timeout_;
  const Nanoseconds interval_;
  bool is_told_ = false;
};

class ReactorWatch {
 public:
  struct Event {
    ReactorEvent kind = ReactorEvent::kHangs;
    std::string reactor;   // the one that hangs; kGoesOn: empty
    Nanoseconds time = 0;  // for how long, about; kGoesOn: 0
  };
  struct Options {
    Nanoseconds timeout = 0;  // 0: none is too long
    std::function<ReactorPulse::Answer()> ask;
    std::function<void(const Event&)> on_event;
  };

  explicit ReactorWatch(Options options);
  ~ReactorWatch();
  ReactorWatch(const ReactorWatch&) = delete;
  ReactorWatch& operator=(const ReactorWatch&) = delete;

 private:
  void Run();

  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TARGET_REACTOR_WATCH_H_
