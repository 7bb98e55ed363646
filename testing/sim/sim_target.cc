// SPDX-License-Identifier: Apache-2.0
#include "testing/sim/sim_target.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "core/engine/target_messages.h"
#include "core/wire/codec.h"
#include "devices/blk/store_memory.h"
#include "testing/sim/sim_request.h"

namespace vof {
namespace {

// The rule of the protocol that a connection ended for, or nothing.
std::string BrokenRule(const std::string& description) {
  for (int i = 1; i <= static_cast<int>(WireError::kVirtqueueOnControl); ++i) {
    const std::string_view text = WireErrorText(static_cast<WireError>(i));
    if (description.find(text) != std::string::npos) return std::string(text);
  }
  return "";
}

}  // namespace

SimTarget::SimTarget(SimContext* context, SimFabric* fabric)
    : context_(context), directory_(context->plan.target) {
  for (int i = 0; i < context->plan.target_reactors; ++i) {
    reactors_.push_back(
        std::make_unique<SimReactor>(&context->now, context->plan.target_scratch_bytes));
    memories_.push_back(std::make_unique<SimMemory>(&fabric->target_domain(),
                                                    &reactors_.back()->pool(), Access::kLocal));
  }
  MakeDevice();
}

SimTarget::~SimTarget() {
  for (bool any_left = true; any_left;) {
    any_left = false;
    for (const auto& reactor : reactors_) any_left = reactor->Abandon() || any_left;
  }
}

void SimTarget::MakeDevice() {
  const SimPlan& plan = context_->plan;
  std::shared_ptr<BlockStore> inner;
  if (plan.memory_store) {
    inner = *MakeMemoryStore({.size_bytes = plan.sectors * kSectorBytes,
                              .max_size_bytes = 1u << 20,
                              .huge_pages = HugePages::kOff},
                             {.all_at_once = true});
  } else {
    fake_store_ = std::make_shared<FakeStore>(
        FakeStore::Options{.size_bytes = plan.sectors * kSectorBytes,
                           .seed = static_cast<uint32_t>(plan.seed),
                           .max_delay_reaps = plan.store_delay_reaps,
                           .failures_per_mille = plan.store_failures_per_mille});
    inner = fake_store_;
  }
  store_ = std::make_shared<StubbornStore>(context_, std::move(inner));
  BlkOptions options;
  options.serial = kSimSerial;
  options.num_queues = plan.device_queues;
  options.max_queue_size = plan.device_queue_size;
  options.shareable = plan.shareable;
  auto device = MakeBlkDevice(options, store_);
  Check(device.ok(), "the plan makes a valid device");
  device_ = *std::move(device);
  context_->capacity_sectors = plan.sectors;
  Check(directory_.AddDevice(kSimDisk, device_).ok(), "the name of the device is free");
}

void SimTarget::Accept(SimLink* link, const std::string& address, SimPeer peer) {
  SimReactor& reactor = *reactors_[ChooseReactor()];
  auto engine = std::make_unique<TargetConnection>(reactor.host(), &directory_,
                                                   PeerIdentity{address, 0, {}}, context_->now);
  TargetEndpoint* endpoint = &engine->endpoint();
  Add(&reactor, std::make_unique<SimConnection>(std::move(link->target), std::move(engine)),
      endpoint, link->pipe, peer);
}

void SimTarget::Accept(SimFabric::Pair* pair, const std::string& address, SimPeer peer) {
  const size_t choice = ChooseReactor();
  SimReactor& reactor = *reactors_[choice];
  SimMemory& memory = *memories_[choice];
  if (!memory.RegisterPool()) {
    context_->Note("target: no registered memory");
    pair->target.reset();
    return;
  }
  KeyedHost keyed;
  keyed.regions = &memory.regions();
  auto engine = std::make_unique<TargetMessages>(reactor.host(), keyed, &directory_,
                                                 PeerIdentity{address, 0, {}}, context_->now);
  TargetEndpoint* endpoint = &engine->endpoint();
  Add(&reactor, std::make_unique<SimMessageConnection>(std::move(pair->target), std::move(engine)),
      endpoint, pair->link, peer);
}

void SimTarget::Add(SimReactor* reactor, std::unique_ptr<Connection> connection,
                    TargetEndpoint* endpoint, std::shared_ptr<SimWire> wire, SimPeer peer) {
  SimReactor::OnDeaf on_deaf;
  // Another life may fail for what happened before the calm: its end would excuse the bug's.
  if (peer == SimPeer::kStrict && context_->Sabotage(SimBug::kLostWakeUp)) {
    on_deaf = [this] { context_->effect.TookPlace(); };
  }
  endpoints_[connection.get()] = endpoint;
  reactor->Add(
      std::move(connection), std::move(wire), SimWire::kTarget,
      [this, honest = peer != SimPeer::kStranger](Connection* finished) {
        endpoints_.erase(finished);
        const std::string description = finished->Describe();
        context_->Note("target: ended " + description);
        const std::string rule = BrokenRule(description);
        if (honest && !rule.empty()) context_->Fail("the target found fault: " + description);
      },
      std::move(on_deaf));
}

bool SimTarget::HasInstance(uint16_t id) const {
  const auto sessions = directory_.Sessions();
  return std::any_of(sessions.begin(), sessions.end(),
                     [id](const auto& session) { return session.instance_id == id; });
}

// --- What goes wrong ---

void SimTarget::Act() {
  FaultRandom& random = context_->random;
  switch (random.Below(8)) {
    case 0:
      return Resize();
    case 1:
    case 2:
      return HoldStore(random.Chance(500), random.Chance(300));
    case 3:
    case 4:
      return hog_.Take(&reactors_[ChooseReactor()]->pool(), random);
    case 5:
    case 6:
      return hog_.GiveBack();
    default:
      if (random.Chance(200)) Drain();
  }
}

void SimTarget::Resize() {
  const uint64_t sectors = context_->random.Chance(400)
                               ? context_->plan.sectors
                               : 32 + context_->random.Below(context_->plan.sectors - 31);
  if (sectors == context_->capacity_sectors) return;
  context_->Note("resize to " + std::to_string(sectors) + " sectors");
  if (sectors < context_->capacity_sectors) {
    context_->model.Cut(sectors);
    context_->effect.OnCut(sectors);
  }
  context_->capacity_sectors = sectors;
  ++context_->num_resizes;
  const absl::Status status = device_->Resize(sectors * kSectorBytes);
  if (!status.ok()) context_->Fail("resize: " + status.ToString());
}

void SimTarget::HoldStore(bool hold, bool stubborn) {
  store_->set_stubborn(hold && stubborn);
  if (fake_store_ != nullptr) fake_store_->Hold(hold);
}

void SimTarget::Drain() {
  context_->Note("target: drains");
  for (auto& reactor : reactors_) {
    reactor->ForEach([this](Connection* connection) { endpoints_[connection]->BeginDrain(); });
  }
}

void SimTarget::Calm() {
  HoldStore(false, false);
  hog_.GiveBack();
}

void SimTarget::CheckGone() {
  hog_.GiveBack();
  if (context_->Sabotage(SimBug::kLeakedBuffer)) leaked_ = reactors_[0]->pool().Allocate(512);
  if (directory_.num_instances() != 0) {
    context_->Fail(std::to_string(directory_.num_instances()) + " instances are left");
  }
  if (directory_.num_connections() != 0) {
    context_->Fail(std::to_string(directory_.num_connections()) + " connections are counted");
  }
  for (const auto& reactor : reactors_) {
    if (reactor->pool().in_use_bytes() != 0) context_->Fail("a pool has memory in use");
    if (reactor->pool().has_waiters()) context_->Fail("somebody waits for memory of a pool");
  }
}

}  // namespace vof
