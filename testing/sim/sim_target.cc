// SPDX-License-Identifier: Apache-2.0
#include "testing/sim/sim_target.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/check.h"
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

SimTarget::SimTarget(SimContext* context) : context_(context), directory_(context->plan.target) {
  for (int i = 0; i < context->plan.target_reactors; ++i) {
    reactors_.push_back(
        std::make_unique<SimReactor>(&context->now, context->plan.target_scratch_bytes));
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
                              .huge_pages = HugePages::kOff});
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
  SimReactor& reactor = *reactors_[context_->random.Below(reactors_.size())];
  auto engine = std::make_unique<TargetConnection>(reactor.host(), &directory_,
                                                   PeerIdentity{address, 0, {}}, context_->now);
  auto connection = std::make_unique<SimConnection>(std::move(link->target), std::move(engine));
  SimReactor::OnDeaf on_deaf;
  // Another life may fail for what happened before the calm: its end would excuse the bug's.
  if (peer == SimPeer::kStrict && context_->Sabotage(SimBug::kLostWakeUp)) {
    on_deaf = [this] { context_->effect.TookPlace(); };
  }
  reactor.Add(
      std::move(connection), link->pipe, SimPipe::kTarget,
      [this, honest = peer != SimPeer::kStranger](Connection* finished) {
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
      return TakeMemory();
    case 5:
    case 6:
      return taken_memory_.clear();
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

// Leaves little or nothing of a pool for requests.
void SimTarget::TakeMemory() {
  BufferPool& pool = reactors_[context_->random.Below(reactors_.size())]->pool();
  const size_t left = context_->random.Chance(300) ? 0 : context_->random.Below(128u << 10);
  for (size_t size = size_t{8} << 20; size >= 512; size /= 2) {
    while (pool.limit_bytes() - pool.in_use_bytes() >= left + size) {
      PoolBuffer buffer = pool.Allocate(size);
      if (!buffer) break;
      taken_memory_.push_back(std::move(buffer));
    }
  }
}

void SimTarget::Drain() {
  context_->Note("target: drains");
  for (auto& reactor : reactors_) {
    reactor->ForEach([](Connection* connection) {
      auto& engine = static_cast<SimConnection*>(connection)->engine();
      static_cast<TargetConnection&>(engine).endpoint().BeginDrain();
    });
  }
}

void SimTarget::Calm() {
  HoldStore(false, false);
  taken_memory_.clear();
}

void SimTarget::CheckGone() {
  taken_memory_.clear();
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
