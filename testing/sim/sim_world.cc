// SPDX-License-Identifier: Apache-2.0
#include "testing/sim/sim_world.h"

#include <algorithm>
#include <utility>

namespace vof {
namespace {

constexpr uint64_t kMostChaosSteps = 12000;
constexpr Nanoseconds kLongestChaos = 40 * kNanosecondsPerSecond;
constexpr uint64_t kMostCalmResizes = 6;
constexpr uint64_t kMostSteps = 3'000'000;
constexpr Nanoseconds kLongestCalm = 120 * kNanosecondsPerSecond;
constexpr Nanoseconds kLongestIdleStep = 20 * kNanosecondsPerMillisecond;

}  // namespace

SimWorld::SimWorld(const SimPlan& plan, bool verbose)
    : context_(plan, verbose),
      fabric_(&context_),
      initiators_(&context_.now, plan.initiator_scratch_bytes),
      memory_(&fabric_.initiator_domain(), &initiators_.pool(), Access::kRemoteReadWrite),
      target_(&context_, &fabric_) {
  reactors_.push_back(&initiators_);
  for (const auto& reactor : target_.reactors()) reactors_.push_back(reactor.get());
  for (size_t i = 0; i < plan.sessions.size(); ++i) {
    sessions_.push_back(std::make_unique<SimSession>(
        SimAttempt::Parts{&context_, &target_, &initiators_, &fabric_, &memory_}, plan.sessions[i],
        i));
  }
}

SimWorld::~SimWorld() = default;

SimTotals SimWorld::totals() const {
  return {steps_, context_.num_requests, context_.now - SimContext::start};
}

std::string SimWorld::Run() {
  RunChaos();
  if (!context_.failed()) RunCalm();
  if (!context_.failed()) RunUntilGone();
  if (!context_.failed()) target_.CheckGone();
  if (!context_.failed()) CheckInitiatorsGone();
  target_.Calm();  // engines that are destroyed wait for their device
  return context_.failure;
}

// --- Phases ---

void SimWorld::RunChaos() {
  const MonotonicTime end = context_.now + kLongestChaos;
  while (!context_.failed() && steps_ < kMostChaosSteps && context_.now < end) {
    const bool done = std::all_of(sessions_.begin(), sessions_.end(),
                                  [](const auto& session) { return session->chaos_done(); });
    if (done) return;
    if (context_.random.Chance(context_.plan.chaos_per_mille)) Act();
    Step();
  }
}

void SimWorld::RunCalm() {
  context_.Note("--- calm ---");
  context_.calm = true;
  hog_.GiveBack();
  target_.Calm();
  for (const auto& wire : context_.blackholes) wire->Break();
  for (const auto& session : sessions_) session->BeginCalm();
  // Sessions that come back do their work twice; some networks are very slow.
  const auto& plans = context_.plan.sessions;
  const bool twice =
      std::any_of(plans.begin(), plans.end(), [](const SessionPlan& plan) { return plan.returns; });
  const int rounds = twice ? 2 : 1;
  const MonotonicTime end = context_.now + rounds * kLongestCalm;
  const uint64_t most_steps = steps_ + rounds * kMostSteps;
  const uint64_t resizes_before = context_.num_resizes;
  const auto finished = [](const auto& session) { return session->finished(); };
  while (!context_.failed() && !std::all_of(sessions_.begin(), sessions_.end(), finished)) {
    if (steps_ % 512 == 0 && context_.num_resizes < resizes_before + kMostCalmResizes &&
        context_.random.Chance(100)) {
      target_.Resize();
    }
    if (steps_ % 512 == 0 && context_.random.Chance(100)) SendStranger();
    if (idle_steps_ > 100 && !HasWork() && NextEvent() == kInfiniteFuture) {
      return context_.Fail("everything sleeps for ever:\n" + Describe());
    }
    Step();
    if (context_.now > end || steps_ > most_steps) {
      return context_.Fail("the work does not end although the faults have stopped:\n" +
                           Describe());
    }
  }
}

// Strangers may still be there, and connections that linger.
void SimWorld::RunUntilGone() {
  const MonotonicTime end = context_.now + kLongestCalm;
  const auto gone = [](SimReactor* reactor) { return reactor->num_connections() == 0; };
  while (!context_.failed() && !std::all_of(reactors_.begin(), reactors_.end(), gone)) {
    if (context_.now > end || (!HasWork() && NextEvent() == kInfiniteFuture)) {
      return context_.Fail("connections are left:\n" + Describe());
    }
    Step();
  }
  while (HasWork()) Step();  // posts
}

void SimWorld::CheckInitiatorsGone() {
  if (initiators_.pool().in_use_bytes() != 0) context_.Fail("an initiator's memory is in use");
  if (initiators_.pool().has_waiters()) context_.Fail("an initiator waits for memory");
  if (fabric_.initiator_domain().num_regions() > 1) {  // the pool's
    context_.Fail("a key has outlived its request");
  }
}

// --- One step ---

bool SimWorld::HasWork() const {
  return std::any_of(reactors_.begin(), reactors_.end(),
                     [](SimReactor* reactor) { return reactor->has_work(); });
}

MonotonicTime SimWorld::NextEvent() const {
  MonotonicTime next = fabric_.NextTime();
  for (SimReactor* reactor : reactors_) next = std::min(next, reactor->NextDeadline());
  for (const auto& session : sessions_) {
    if (!session->finished()) next = std::min(next, session->NextEvent());
  }
  return next;
}

void SimWorld::Step() {
  ++steps_;
  fabric_.Run();
  for (const auto& session : sessions_) session->Poll();
  SimReactor* reactor = reactors_[context_.random.Below(reactors_.size())];
  PassTime(reactor->Step(context_.random));
}

// A little with every step; more when nothing moves, up to the next event.
void SimWorld::PassTime(bool moved) {
  idle_steps_ = moved ? 0 : idle_steps_ + 1;
  Nanoseconds pass = static_cast<Nanoseconds>(context_.random.Below(20'000));
  const MonotonicTime next = NextEvent();
  const bool overdue = next <= context_.now;
  if (!overdue && idle_steps_ > 8 * reactors_.size()) {
    const bool sleeps = !HasWork();
    const int doublings = static_cast<int>(std::min<size_t>(idle_steps_ / 8, 12));
    pass = std::min(Nanoseconds{20'000} << doublings, kLongestIdleStep);
    if (sleeps && next != kInfiniteFuture) pass = next - context_.now;
    pass = std::min(pass, next - context_.now);
  }
  if (!HasWork()) context_.slept += pass;
  context_.now += pass;
}

// --- What happens ---

bool SimWorld::any_keyed() const {
  const auto& plans = context_.plan.sessions;
  return std::any_of(plans.begin(), plans.end(), [](const SessionPlan& plan) {
    return plan.transmission == Transmission::kKeyed;
  });
}

// Initiators need some on the fabric only.
void SimWorld::ActOnMemory() {
  FaultRandom& random = context_.fabric_random;
  if (random.Chance(500)) {
    hog_.Take(&initiators_.pool(), random);
  } else {
    hog_.GiveBack();
  }
}

void SimWorld::Act() {
  if (any_keyed() && context_.fabric_random.Chance(100)) return ActOnMemory();
  switch (context_.random.Below(4)) {
    case 0:
      return target_.Act();
    case 1:
      return context_.random.Chance(400) ? SendStranger() : void();
    default:
      return sessions_[context_.random.Below(sessions_.size())]->Act();
  }
}

std::string SimWorld::Describe() const {
  std::string text;
  for (const auto& session : sessions_) text += session->Describe();
  for (SimReactor* reactor : reactors_) text += reactor->Describe();
  return text;
}

}  // namespace vof
