// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/client/blk_client.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "devices/blk/client/blk_transfer.h"

namespace vof {
namespace {

// Larger requests bring little; smaller ones keep several in flight and the target's pool mixed.
constexpr uint64_t kPreferredRequestBytes = 256u << 10;

constexpr ConfigField kWritebackField = {offsetof(BlkConfigSpace, writeback), 1};
constexpr ConfigField kNumQueuesField = {offsetof(BlkConfigSpace, num_queues), 2};

std::string_view VerbOf(uint32_t type) {
  switch (type) {
    case kBlkTypeIn:
      return "read";
    case kBlkTypeOut:
      return "write";
    case kBlkTypeDiscard:
      return "discard";
    case kBlkTypeWriteZeroes:
      return "write of zeroes";
    case kBlkTypeGetId:
      return "get_id";
    default:
      return "flush";
  }
}

bool HasRange(uint32_t type) { return type != kBlkTypeFlush && type != kBlkTypeGetId; }

absl::Status RefusedByTarget(Dialect dialect, std::string_view what,
                             const BlkTransfer::Outcome& outcome) {
  Completion completion;
  completion.cause = outcome.cause;
  completion.status = outcome.status;
  return RefusedStatus(dialect, what, completion);
}

// Never OK: a request was lost, whatever is known of its queue.
absl::Status LostReason(const BlkClientQueue& queue) {
  const absl::Status status = queue.status();
  return status.ok() ? LostStatus(CloseReason::kPeerReset, 0) : status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<BlkClient>> BlkClient::Connect(const Uri& uri,
                                                              BackendRegistry* registry,
                                                              DeviceClientOptions options) {
  options.wanted_features &= kBlkClientFeatures;
  options.num_queues_field = kNumQueuesField;
  options.num_queues_feature = kBlkFeatureMultiQueue;
  absl::StatusOr<std::unique_ptr<DeviceClient>> device =
      DeviceClient::Connect(uri, registry, std::move(options));
  if (!device.ok()) return device.status();
  std::unique_ptr<BlkClient> client(new BlkClient);
  client->device_ = *std::move(device);
  if (absl::Status status = client->Init(); !status.ok()) return status;
  return client;
}

BlkClient::~BlkClient() = default;

absl::Status BlkClient::Init() {
  const SessionInfo& session = device_->info();
  if (session.device_type != kBlkDeviceType) {
    return UnsupportedStatus(absl::StrCat(FormatUriBare(device_->uri()),
                                          ": this is a device of virtio type ", session.device_type,
                                          ", not a block device (2)"));
  }
  absl::StatusOr<BlkInfo> info = Refresh();
  if (!info.ok()) return info.status();
  // Segments exist on the wire of `ref` only.
  const uint32_t largest_segment = session.dialect == Dialect::kRef ? info->size_max_bytes : 0;
  for (size_t i = 0; i < device_->num_queues(); ++i) {
    queues_.push_back(std::make_unique<BlkClientQueue>(&device_->queue(i), largest_segment));
  }
  absl::StatusOr<std::string> serial = GetId();
  if (!serial.ok() && FailureKindOf(serial.status()) != FailureKind::kUnsupported) {
    return serial.status();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  info_.serial = serial.ok() ? *serial : "";
  return absl::OkStatus();
}

BlkInfo BlkClient::info() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return info_;
}

absl::StatusOr<BlkInfo> BlkClient::Refresh() {
  absl::StatusOr<ConfigSnapshot> snapshot =
      device_->ReadConfig(BlkInfoFields(device_->info().features));
  if (!snapshot.ok()) return snapshot.status();
  absl::StatusOr<BlkInfo> info = MakeBlkInfo(device_->info(), *snapshot);
  if (!info.ok()) return WithContext(FormatUriBare(device_->uri()), info.status());
  const std::lock_guard<std::mutex> lock(mutex_);
  info->serial = info_.serial;
  info_ = *info;
  return info_;
}

absl::Status BlkClient::CheckRange(std::string_view verb, uint64_t offset_bytes,
                                   uint64_t length_bytes, bool writes) const {
  const BlkInfo info = this->info();
  const std::string what =
      absl::StrCat(FormatUriBare(device_->uri()), ": ", absl::string_view(verb.data(), verb.size()),
                   " of ", length_bytes, " bytes at offset ", offset_bytes);
  if (offset_bytes % info.block_bytes != 0 || length_bytes % info.block_bytes != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": offset and length must be multiples of the block size, ", info.block_bytes));
  }
  if (offset_bytes > info.capacity_bytes || length_bytes > info.capacity_bytes - offset_bytes) {
    return absl::OutOfRangeError(absl::StrCat(what, ": the device ends at ", info.capacity_bytes));
  }
  if (writes && info.read_only) {
    return absl::FailedPreconditionError(absl::StrCat(what, ": the device is read-only"));
  }
  return absl::OkStatus();
}

BlkClientQueue* BlkClient::PickQueue() {
  const uint32_t first = next_queue_.fetch_add(1, std::memory_order_relaxed);
  for (size_t i = 0; i < queues_.size(); ++i) {
    BlkClientQueue* queue = queues_[(first + i) % queues_.size()].get();
    if (queue->status().ok()) return queue;  // a virtqueue may be lost alone
  }
  return queues_[0].get();
}

absl::Status BlkClient::Run(BlkTransfer* transfer, BlkClientQueue* queue,
                            const BlkTransfer::Plan& plan) {
  if (absl::Status status = device_->status(); !status.ok()) return status;
  const BlkTransfer::Outcome outcome = transfer->Run();
  if (outcome.error == BlkError::kNone) return absl::OkStatus();
  const std::string_view verb = VerbOf(plan.type);
  std::string what(verb);
  if (HasRange(plan.type)) {
    absl::StrAppend(&what, " of ", outcome.length_bytes, " bytes at offset ", outcome.offset_bytes);
  }
  // Its requests have the time-out of the URI.
  const std::string reason =
      outcome.error == BlkError::kTimedOut
          ? absl::StrCat("no answer within ", LimitText(device_->uri().options.io_timeout))
          : std::string(BlkErrorText(outcome.error));
  const std::string text = absl::StrCat(FormatUriBare(device_->uri()), ": ", what, ": ", reason);
  switch (outcome.error) {
    case BlkError::kUnsupported:
      return UnsupportedStatus(text);
    case BlkError::kTimedOut:
      return TimedOutStatus(text);
    case BlkError::kRefused:
      return WithContext(FormatUriBare(device_->uri()),
                         RefusedByTarget(device_->info().dialect, what, outcome));
    case BlkError::kLost:
    case BlkError::kCancelled:
      return WithContext(text, LostReason(*queue));
    case BlkError::kBadAnswer:
      return ProtocolStatus(text);
    case BlkError::kTooLarge:
      return absl::InternalError(text);
    default:
      return absl::DataLossError(text);
  }
}

absl::Status BlkClient::RunRange(BlkTransfer::Plan plan, uint64_t largest_bytes) {
  absl::Status status =
      CheckRange(VerbOf(plan.type), plan.offset_bytes, plan.length_bytes, plan.type != kBlkTypeIn);
  if (!status.ok() || plan.length_bytes == 0) return status;
  const uint32_t block_bytes = info().block_bytes;
  plan.largest_request_bytes =
      std::max<uint64_t>(largest_bytes - largest_bytes % block_bytes, block_bytes);
  BlkClientQueue* queue = PickQueue();
  auto transfer = std::make_unique<BlkTransfer>(queue, plan);
  return Run(transfer.get(), queue, plan);
}

absl::Status BlkClient::Read(uint64_t offset_bytes, std::span<std::byte> into) {
  return RunRange({.type = kBlkTypeIn,
                   .offset_bytes = offset_bytes,
                   .length_bytes = into.size(),
                   .into = into.data()},
                  std::min<uint64_t>(info().max_transfer_bytes, kPreferredRequestBytes));
}

absl::Status BlkClient::Write(uint64_t offset_bytes, std::span<const std::byte> data) {
  return RunRange({.type = kBlkTypeOut,
                   .offset_bytes = offset_bytes,
                   .length_bytes = data.size(),
                   .from = data.data()},
                  std::min<uint64_t>(info().max_transfer_bytes, kPreferredRequestBytes));
}

absl::Status BlkClient::Discard(uint64_t offset_bytes, uint64_t length_bytes) {
  const BlkInfo info = this->info();
  if (!info.can_discard) {
    return UnsupportedStatus(FormatUriBare(device_->uri()) + ": the device does not offer discard");
  }
  return RunRange(
      {.type = kBlkTypeDiscard, .offset_bytes = offset_bytes, .length_bytes = length_bytes},
      info.max_discard_bytes);
}

absl::Status BlkClient::WriteZeroes(uint64_t offset_bytes, uint64_t length_bytes, bool may_unmap) {
  const BlkInfo info = this->info();
  if (!info.can_write_zeroes) {
    return UnsupportedStatus(FormatUriBare(device_->uri()) +
                             ": the device does not offer write zeroes");
  }
  return RunRange({.type = kBlkTypeWriteZeroes,
                   .offset_bytes = offset_bytes,
                   .length_bytes = length_bytes,
                   .may_unmap = may_unmap && info.write_zeroes_may_unmap},
                  info.max_write_zeroes_bytes);
}

absl::Status BlkClient::Flush() {
  if (!info().can_flush) return absl::OkStatus();
  const BlkTransfer::Plan plan = {.type = kBlkTypeFlush};
  BlkClientQueue* queue = PickQueue();
  auto transfer = std::make_unique<BlkTransfer>(queue, plan);
  return Run(transfer.get(), queue, plan);
}

absl::StatusOr<std::string> BlkClient::GetId() {
  const BlkTransfer::Plan plan = {.type = kBlkTypeGetId};
  BlkClientQueue* queue = PickQueue();
  auto transfer = std::make_unique<BlkTransfer>(queue, plan);
  if (absl::Status status = Run(transfer.get(), queue, plan); !status.ok()) return status;
  const std::span<const char, kBlkIdBytes> id = transfer->id();
  return std::string(id.data(), strnlen(id.data(), id.size()));  // not terminated when it is full
}

absl::Status BlkClient::SetWriteCache(bool on) {
  if (!info().can_set_cache) {
    return UnsupportedStatus(FormatUriBare(device_->uri()) +
                             ": the device cannot change its write cache");
  }
  if (absl::Status status = device_->WriteConfig(kWritebackField, on ? 1 : 0); !status.ok()) {
    return status;
  }
  return Refresh().status();
}

}  // namespace vof
