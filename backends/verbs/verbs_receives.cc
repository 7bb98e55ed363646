// SPDX-License-Identifier: Apache-2.0
#include "backends/verbs/verbs_receives.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/verbs/verbs_error.h"

namespace vof {
namespace {

// Receives that go to the device at once.
constexpr size_t kPostBatch = 32;

}  // namespace

std::shared_ptr<VerbsReceives> VerbsReceives::Own(std::shared_ptr<VerbsDomain> domain,
                                                  int max_receives) {
  return std::shared_ptr<VerbsReceives>(new VerbsReceives(std::move(domain), max_receives));
}

absl::StatusOr<std::shared_ptr<VerbsReceives>> VerbsReceives::Shared(
    std::shared_ptr<VerbsDomain> domain, int max_receives) {
  const ibv_device_attr& device = domain->attributes();
  max_receives = std::min(max_receives, device.max_srq_wr);
  if (device.max_srq <= 0 || max_receives <= 0) {
    return absl::UnimplementedError(
        absl::StrCat(domain->device_name(), " has no shared receive queues"));
  }
  std::shared_ptr<VerbsReceives> receives = Own(std::move(domain), max_receives);
  VerbsDomain& d = *receives->domain_;
  ibv_srq_init_attr attributes = {};
  attributes.attr.max_wr = static_cast<uint32_t>(max_receives);
  attributes.attr.max_sge = 1;
  receives->shared_queue_ = d.calls().CreateSharedReceiveQueue(d.get(), &attributes);
  if (receives->shared_queue_ == nullptr) {
    return VerbsError(absl::StrCat("cannot make a shared receive queue of ", max_receives, " on ",
                                   d.device_name()),
                      errno);
  }
  return receives;
}

VerbsReceives::~VerbsReceives() {
  if (shared_queue_ != nullptr) domain_->calls().DestroySharedReceiveQueue(shared_queue_);
}

absl::Status VerbsReceives::Want(int more, ibv_qp* queue_pair) {
  std::lock_guard<std::mutex> lock(mutex_);
  const int missing = wanted_ + more - made_;
  if (missing > 0) {
    if (absl::Status s = Grow(missing, queue_pair); !s.ok()) return s;
  }
  wanted_ += more;
  return absl::OkStatus();
}

bool VerbsReceives::Release(uint32_t index, const void* owner) {
  if (!Has(index) || slots_[index].owner.load(std::memory_order_relaxed) != owner) return false;
  slots_[index].owner.store(nullptr, std::memory_order_relaxed);
  return true;
}

void VerbsReceives::Leave(const void* owner, int count) {
  std::lock_guard<std::mutex> lock(mutex_);
  wanted_ -= count;
  if (shared_queue_ == nullptr) return;
  for (uint32_t i = 0; i < static_cast<uint32_t>(made_); ++i) {
    if (Release(i, owner)) Post(std::span<const uint32_t>(&i, 1), nullptr);
  }
}

absl::Status VerbsReceives::Grow(int count, ibv_qp* queue_pair) {
  if (count > max_receives() - made_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot post ", made_ + count, " receives on ", domain_->device_name(),
                     ": the queue takes ", max_receives(),
                     "; use smaller or fewer queues, or raise max_receives"));
  }
  const size_t size_bytes = static_cast<size_t>(count) * kReceiveBytes;
  Block block;
  block.memory.reset(new (kPage) std::byte[size_bytes]);
  absl::StatusOr<Region> region =
      domain_->Register(MutableBuffer(block.memory.get(), size_bytes), Access::kLocal);
  if (!region.ok()) {
    return absl::Status(region.status().code(),
                        absl::StrCat(count, " receives: ", region.status().message()));
  }
  block.region = *std::move(region);
  std::vector<uint32_t> indices(static_cast<size_t>(count));
  std::iota(indices.begin(), indices.end(), static_cast<uint32_t>(made_));
  for (size_t i = 0; i < indices.size(); ++i) {
    Slot& slot = slots_[indices[i]];
    slot.data = block.memory.get() + i * kReceiveBytes;
    slot.lkey = LocalKeyOf(block.region.local_key());
  }
  made_ += count;
  blocks_.push_back(std::move(block));
  if (const int error = Post(indices, queue_pair); error != 0) {
    return VerbsError(absl::StrCat("cannot post ", count, " receives on ", domain_->device_name()),
                      error);
  }
  return absl::OkStatus();
}

int VerbsReceives::Post(std::span<const uint32_t> indices, ibv_qp* queue_pair) {
  std::array<ibv_recv_wr, kPostBatch> work_requests;
  std::array<ibv_sge, kPostBatch> segments;
  while (!indices.empty()) {
    const size_t count = std::min(indices.size(), kPostBatch);
    for (size_t i = 0; i < count; ++i) {
      const Slot& slot = slots_[indices[i]];
      segments[i] = {.addr = reinterpret_cast<uintptr_t>(slot.data),
                     .length = kReceiveBytes,
                     .lkey = slot.lkey};
      work_requests[i] = {.wr_id = indices[i],
                          .next = i + 1 == count ? nullptr : &work_requests[i + 1],
                          .sg_list = &segments[i],
                          .num_sge = 1};
    }
    ibv_recv_wr* failed = nullptr;
    VerbsCalls& calls = domain_->calls();
    const int error = shared_queue_ != nullptr
                          ? calls.PostSharedReceive(shared_queue_, work_requests.data(), &failed)
                          : calls.PostReceive(queue_pair, work_requests.data(), &failed);
    if (error != 0) return error;
    indices = indices.subspan(count);
  }
  return 0;
}

}  // namespace vof
