// SPDX-License-Identifier: Apache-2.0
#include "testing/sim/sim_world.h"

#include <algorithm>
#include <utility>

#include "core/wire/connect_body.h"
#include "core/wire/ref.h"
#include "core/wire/v5.h"

namespace vof {
namespace {

constexpr uint64_t kMostChaosSteps = 12000;
constexpr Nanoseconds kLongestChaos = 40 * kNanosecondsPerSecond;
constexpr uint64_t kMostCalmResizes = 6;
// Strangers must not take all the steps there are.
constexpr size_t kMostConnections = 20;
constexpr uint64_t kMostSteps = 3'000'000;
constexpr Nanoseconds kLongestCalm = 120 * kNanosecondsPerSecond;
constexpr Nanoseconds kLongestIdleStep = 20 * kNanosecondsPerMillisecond;

template <Codec C>
SimStranger::Bytes ConnectBytesOf(Command command, const ConnectBody& body) {
  command.kind = CommandKind::kConnect;
  command.body_length = kConnectBodyBytes;
  command.ndesc = C::kSegmentedStreams ? 1 : 0;
  const size_t descriptor_bytes = C::kSegmentedStreams ? C::kDescriptorBytes : 0;
  SimStranger::Bytes bytes(kHeaderBytes + descriptor_bytes + kConnectBodyBytes);
  C::EncodeCommand(command, HeaderOut(bytes.data(), kHeaderBytes));
  if constexpr (C::kSegmentedStreams) {
    C::EncodeSegment(Segment{.length_bytes = kConnectBodyBytes},
                     {bytes.data() + kHeaderBytes, descriptor_bytes});
  }
  (void)EncodeConnectBody(C::kDialect, body, std::span(bytes).template last<kConnectBodyBytes>());
  return bytes;
}

}  // namespace

SimWorld::SimWorld(const SimPlan& plan, bool verbose)
    : context_(plan, verbose),
      initiators_(&context_.now, plan.initiator_scratch_bytes),
      target_(&context_) {
  reactors_.push_back(&initiators_);
  for (const auto& reactor : target_.reactors()) reactors_.push_back(reactor.get());
  for (size_t i = 0; i < plan.sessions.size(); ++i) {
    sessions_.push_back(std::make_unique<SimSession>(
        SimAttempt::Parts{&context_, &target_, &initiators_}, plan.sessions[i], i));
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
  target_.Calm();
  for (const auto& pipe : context_.blackholes) pipe->Break();
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

// --- One step ---

bool SimWorld::HasWork() const {
  return std::any_of(reactors_.begin(), reactors_.end(),
                     [](SimReactor* reactor) { return reactor->has_work(); });
}

MonotonicTime SimWorld::NextEvent() const {
  MonotonicTime next = kInfiniteFuture;
  for (SimReactor* reactor : reactors_) next = std::min(next, reactor->NextDeadline());
  for (const auto& session : sessions_) {
    if (!session->finished()) next = std::min(next, session->NextEvent());
  }
  return next;
}

void SimWorld::Step() {
  ++steps_;
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

void SimWorld::Act() {
  switch (context_.random.Below(4)) {
    case 0:
      return target_.Act();
    case 1:
      return context_.random.Chance(400) ? SendStranger() : void();
    default:
      return sessions_[context_.random.Below(sessions_.size())]->Act();
  }
}

void SimWorld::SendStranger() {
  if (initiators_.num_connections() >= kMostConnections) return;
  const SimSession& victim = *sessions_[context_.random.Below(sessions_.size())];
  StrangerKind kind{};
  SimStranger::Bytes bytes = StrangerBytes(victim, &kind);
  const bool victim_was_ready = victim.ready();
  const uint16_t instance_id = victim.instance_id();
  const MonotonicTime leave_at = context_.now + Milliseconds(1 + context_.random.Below(300));
  auto engine = std::make_unique<SimStranger>(
      std::move(bytes), leave_at, [=, this, &victim](const SimStranger::Bytes& answer) {
        const bool victim_stayed =
            victim_was_ready && victim.ready() && victim.instance_id() == instance_id;
        const bool may_enter =
            kind == StrangerKind::kNamesake && (context_.plan.shareable || !victim_stayed);
        if (!may_enter) CheckRefused(answer);
      });
  SimLink link = MakeSimLink(&context_, nullptr, "stranger");
  initiators_.Add(std::make_unique<SimConnection>(std::move(link.initiator), std::move(engine)),
                  link.pipe, SimPipe::kInitiator, nullptr);
  target_.Accept(&link, "stranger", SimPeer::kStranger);
}

SimStranger::Bytes SimWorld::StrangerBytes(const SimSession& victim, StrangerKind* kind) {
  FaultRandom& random = context_.random;
  ConnectBody body = victim.body();
  Command command;
  command.instance_id = kControlInstanceId;
  const bool is_v5 = random.Chance(600);
  *kind = static_cast<StrangerKind>(random.Below(5));
  if (*kind == StrangerKind::kNoise) {
    SimStranger::Bytes noise(1 + random.Below(2000));
    for (std::byte& b : noise) b = static_cast<std::byte>(random.Next());
    noise[0] = std::byte{0xff};
    return noise;
  }
  if (*kind == StrangerKind::kVirtqueue) {
    command.instance_id = victim.ready() ? victim.instance_id() : 0x1234;
    body.token.fill(std::byte{0});
  } else if (*kind == StrangerKind::kNoDevice) {
    body.target_name = "no such disk";
  } else {
    body.token.fill(std::byte{0x77});
  }
  SimStranger::Bytes bytes =
      is_v5 ? ConnectBytesOf<V5>(command, body) : ConnectBytesOf<Ref>(command, body);
  if (*kind == StrangerKind::kHalf) bytes.resize(random.Below(bytes.size()));
  return bytes;
}

void SimWorld::CheckRefused(const SimStranger::Bytes& answer) {
  if (answer.size() < 2) return;  // closed without one
  if (answer[0] == std::byte{0} && answer[1] == std::byte{0}) {
    context_.Fail("a stranger was let in");
  }
}

std::string SimWorld::Describe() const {
  std::string text;
  for (const auto& session : sessions_) text += session->Describe();
  for (SimReactor* reactor : reactors_) text += reactor->Describe();
  return text;
}

}  // namespace vof
