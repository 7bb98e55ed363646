// SPDX-License-Identifier: Apache-2.0
//
// Whether the reactors of a target still turn. Code that a reactor runs, of a device or of a
// library beneath a fabric, may never come back: its sessions then hang, and so does who waits for
// it.
//
//   std::shared_ptr<ReactorPulse> pulse = target->pulse();
//   while (sleep(5), true) {
//     const ReactorPulse::Answer slowest = pulse->Ask();
//     if (slowest.unanswered > 2) Warn(slowest.reactor);   // it has not turned for over ten
//     seconds
//   }
//
// It counts questions instead of time, so that a process which was stopped and goes on is not taken
// for one that hangs.
#ifndef VOF_CORE_RUNTIME_REACTOR_PULSE_H_
#define VOF_CORE_RUNTIME_REACTOR_PULSE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace vof {

class Reactor;

class ReactorPulse {
 public:
  struct Answer {
    std::string reactor;      // its name; empty: all have answered
    uint64_t unanswered = 0;  // questions in a row, the last one not counted
  };

  // While it lives, nobody expects an answer: for work that may take minutes, as an adapter that
  // pins a large disk. Made and destroyed on the reactor's thread.
  class Excuse {
   public:
    Excuse(const ReactorPulse& pulse, const Reactor* reactor);
    ~Excuse();
    Excuse(const Excuse&) = delete;
    Excuse& operator=(const Excuse&) = delete;

   private:
    std::shared_ptr<std::atomic<bool>> is_excused_;  // null: the reactors are about to end
  };

  void Add(Reactor* reactor);
  // Asks each reactor that has answered, and tells of the one that owes an answer for longest. Any
  // thread; does not wait for a reactor.
  Answer Ask();
  // The reactors are about to end. From then on all is well.
  void Close();

 private:
  struct Member {
    Reactor* reactor;
    // Shared with the question, which a reactor may drop as late as it is destroyed.
    std::shared_ptr<std::atomic<bool>> owes_answer;
    std::shared_ptr<std::atomic<bool>> is_excused;
    uint64_t unanswered = 0;
  };

  mutable std::mutex mutex_;
  std::vector<Member> members_;
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_REACTOR_PULSE_H_
