// SPDX-License-Identifier: Apache-2.0
#include "testing/sim/sim_request.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "devices/blk/blk_wire.h"

namespace vof {
namespace {

constexpr std::byte kGarbled{0xa5};
// How late a time-out may be noticed: the longest time that the world lets pass at once.
constexpr Nanoseconds kTimeoutSlack = 100 * kNanosecondsPerMillisecond;

uint32_t TypeOf(SimVerb verb) {
  switch (verb) {
    case SimVerb::kRead:
      return kBlkTypeIn;
    case SimVerb::kWrite:
      return kBlkTypeOut;
    case SimVerb::kFlush:
      return kBlkTypeFlush;
    case SimVerb::kGetId:
      return kBlkTypeGetId;
    case SimVerb::kDiscard:
      return kBlkTypeDiscard;
    case SimVerb::kWriteZeroes:
      return kBlkTypeWriteZeroes;
  }
  return 0;
}

}  // namespace

SimRequest::SimRequest(SimContext* context, const SimRequestLimits& limits)
    : context_(context), limits_(limits) {
  Draw();
  Build();
}

SimRequest::SimRequest(SimContext* context, const SimRequestLimits& limits, Extent extent)
    : context_(context), limits_(limits), extents_{extent} {
  Build();
}

SimRequest::~SimRequest() {
  if (done_) CheckUntouched();
}

void SimRequest::Draw() {
  FaultRandom& random = context_->random;
  const uint64_t draw = random.Below(100);
  verb_ = draw < 40                            ? SimVerb::kRead
          : draw < 80                          ? SimVerb::kWrite
          : draw < 85 && limits_.flush         ? SimVerb::kFlush
          : draw < 88                          ? SimVerb::kGetId
          : draw < 94 && limits_.discard       ? SimVerb::kDiscard
          : draw >= 94 && limits_.write_zeroes ? SimVerb::kWriteZeroes
                                               : SimVerb::kWrite;
  if (verb_ == SimVerb::kFlush || verb_ == SimVerb::kGetId) return;
  const bool many = verb_ == SimVerb::kDiscard || verb_ == SimVerb::kWriteZeroes;
  const uint64_t ranges = many ? 1 + random.Below(3) : 1;
  for (uint64_t i = 0; i < ranges; ++i) {
    const uint64_t count = 1 + random.Below(context_->plan.largest_sectors);
    // Now and then it reaches behind the end of a disk that has shrunk.
    const uint64_t sectors =
        random.Chance(30) ? context_->plan.sectors : std::max(context_->capacity_sectors, count);
    extents_.push_back({random.Below(sectors - count + 1), count});
  }
}

void SimRequest::Build() {
  BlkRequestHeader header;
  header.type = TypeOf(verb_);
  header.sector = extents_.empty() || extents_.size() > 1 ? 0 : extents_[0].first;
  out_.resize(sizeof(header));
  std::memcpy(out_.data(), &header, sizeof(header));
  size_t in_bytes = 1;
  resizes_at_start_ = context_->num_resizes;
  if (limits_.reset_marks != nullptr) reset_mark_at_start_ = *limits_.reset_marks;
  submitted_at_ = context_->now;
  slept_at_start_ = context_->slept;
  effect_clock_at_start_ = context_->effect.clock();
  if (verb_ == SimVerb::kRead) {
    in_bytes += extents_[0].count * kSectorBytes;
    read_ = context_->model.StartRead(extents_[0].first, extents_[0].count);
  } else if (verb_ == SimVerb::kWrite) {
    version_ = context_->model.NewVersion();
    out_.resize(sizeof(header) + extents_[0].count * kSectorBytes);
    for (uint64_t i = 0; i < extents_[0].count; ++i) {
      DiskModel::Fill(version_, extents_[0].first + i,
                      std::span(out_).subspan(sizeof(header) + i * kSectorBytes, kSectorBytes));
    }
    write_ = context_->model.StartWrite(extents_, version_);
  } else if (verb_ == SimVerb::kGetId) {
    in_bytes += kBlkIdBytes;
  } else if (verb_ != SimVerb::kFlush) {
    AddSegments();
    write_ = context_->model.StartWrite(extents_, kZeroVersion);
  }
  if (write_ != nullptr) context_->effect.OnWriteStarted(extents_);
  in_.assign(in_bytes, std::byte{0xee});
  CutPieces();
  request_.readable = readable_;
  request_.writable = writable_;
  request_.context = this;
  request_.done = [](InitiatorRequest* done) {
    auto* self = static_cast<SimRequest*>(done->context);
    if (self->context_->Sabotage(SimBug::kDoubledCompletion)) {
      const auto on_done = std::exchange(self->on_done, nullptr);
      self->Judge();
      self->on_done = on_done;
    }
    self->Judge();
  };
  request_.timeout = limits_.timeout;
  ++context_->num_requests;
}

void SimRequest::AddSegments() {
  for (const Extent& extent : extents_) {
    BlkDiscardSegment segment;
    segment.sector = extent.first;
    segment.num_sectors = static_cast<uint32_t>(extent.count);
    const auto* bytes = reinterpret_cast<const std::byte*>(&segment);
    out_.insert(out_.end(), bytes, bytes + sizeof(segment));
  }
}

std::vector<size_t> SimRequest::Cuts(size_t bytes) {
  FaultRandom& random = context_->random;
  std::vector<size_t> pieces;
  const uint64_t most = random.Chance(50) ? 60 : 1 + random.Below(5);
  while (bytes > 0 && pieces.size() + 1 < most) {
    if (random.Chance(100)) pieces.push_back(0);
    pieces.push_back(1 + random.Below(bytes));
    bytes -= pieces.back();
  }
  if (bytes > 0) pieces.push_back(bytes);
  return pieces;
}

void SimRequest::CutPieces() {
  size_t at = 0;
  for (size_t piece : Cuts(out_.size())) {
    readable_.emplace_back(out_.data() + at, piece);
    at += piece;
  }
  at = 0;
  for (size_t piece : Cuts(in_.size())) {
    writable_.emplace_back(in_.data() + at, piece);
    at += piece;
  }
}

// --- Judging ---

void SimRequest::Fail(const std::string& what) const { context_->Fail(Describe() + ": " + what); }

std::string SimRequest::Describe() const {
  static constexpr const char* kNames[] = {"read",   "write",   "flush",
                                           "get id", "discard", "write zeroes"};
  std::string text = kNames[static_cast<int>(verb_)];
  for (const Extent& extent : extents_) {
    text += " [" + std::to_string(extent.first) + "+" + std::to_string(extent.count) + "]";
  }
  if (version_ != 0) text += " version " + std::to_string(version_);
  return text + " (id " + std::to_string(request_.command_id) + ")";
}

void SimRequest::Judge() {
  if (done_) return Fail("completed twice");
  done_ = true;
  const Nanoseconds age = context_->now - submitted_at_;
  if (limits_.timeout > 0 && age > limits_.timeout + kTimeoutSlack) {
    Fail("outlived its time-out: " + std::to_string(age / kNanosecondsPerMillisecond) + " ms");
  }
  if (!limits_.attempt_may_end && context_->slept - slept_at_start_ > SimContext::kLongestSleep) {
    Fail("waited while everybody slept");
  }
  const bool too_large = out_.size() > limits_.max_out_bytes || in_.size() > limits_.max_in_bytes;
  if (request_.error == RequestError::kNone) {
    if (too_large) Fail("was sent although it is too large");
    JudgeDeviceAnswer();
  } else {
    if (request_.error == RequestError::kTooLarge && !too_large) Fail("is not too large");
    FinishModel(OutcomeOfError());
  }
  std::fill(out_.begin(), out_.end(), kGarbled);
  std::fill(in_.begin(), in_.end(), kGarbled);
  if (on_done) on_done(this);
}

WriteOutcome SimRequest::OutcomeOfError() const {
  switch (request_.error) {
    case RequestError::kNone:
      break;
    case RequestError::kRefused:
      if (request_.cause != Cause::kStatus) {
        Fail("was refused: " + std::string(CauseText(request_.cause)));
      }
      return WriteOutcome::kNever;
    case RequestError::kTooLarge:
      return WriteOutcome::kNever;
    case RequestError::kProtocol:
      Fail("the target broke the protocol");
      return WriteOutcome::kUnknown;
    case RequestError::kCancelled:
      if (!limits_.attempt_may_end) Fail("was cancelled without a fault");
      return WriteOutcome::kNever;
    case RequestError::kTimedOut:
    case RequestError::kClosed:
      if (!limits_.attempt_may_end) Fail("failed without a fault");
      return WriteOutcome::kUnknown;
  }
  return WriteOutcome::kUnknown;
}

bool SimRequest::within_capacity() const {
  return std::all_of(extents_.begin(), extents_.end(), [this](const Extent& extent) {
    return extent.first + extent.count <= context_->capacity_sectors;
  });
}

bool SimRequest::met_a_reset() const {
  if (limits_.reset_marks == nullptr) return false;
  return reset_mark_at_start_ % 2 == 1 || *limits_.reset_marks != reset_mark_at_start_;
}

void SimRequest::JudgeDeviceAnswer() {
  if (request_.used_length != in_.size()) {
    return Fail("used length is " + std::to_string(request_.used_length));
  }
  const auto status = static_cast<uint8_t>(in_.back());
  const bool same_size = resizes_at_start_ == context_->num_resizes;
  const bool must_succeed =
      !met_a_reset() && same_size && within_capacity() && context_->plan.memory_store;
  if (status > kBlkStatusUnsupported) return Fail("its status byte is " + std::to_string(status));
  if (status == kBlkStatusUnsupported && !met_a_reset()) return Fail("is not supported");
  if (status != kBlkStatusOk && must_succeed) return Fail("failed for no reason");
  if (status == kBlkStatusOk && same_size && !within_capacity()) Fail("reached behind the end");
  if (verb_ == SimVerb::kRead) return JudgeRead(status);
  if (verb_ == SimVerb::kGetId && status == kBlkStatusOk) {
    std::string id(reinterpret_cast<const char*>(in_.data()), kBlkIdBytes);
    if (std::string(id.c_str()) != kSimSerial) Fail("the serial is '" + id + "'");
  }
  // What a store that fails has done to its sectors, nobody knows; a memory disk checks first.
  FinishModel(status == kBlkStatusOk                     ? WriteOutcome::kDone
              : context_->plan.memory_store && same_size ? WriteOutcome::kNever
                                                         : WriteOutcome::kMaybe);
}

void SimRequest::JudgeRead(uint8_t status) {
  std::string error;
  if (status != kBlkStatusOk) {
    FinishModel(WriteOutcome::kNever);
    const std::span<const std::byte> data = std::span(in_).first(in_.size() - 1);
    if (!std::all_of(data.begin(), data.end(), [](std::byte b) { return b == std::byte{0}; }) &&
        context_->plan.memory_store) {
      Fail("failed, but its data are not zeros");
    }
    return;
  }
  context_->effect.OnRead(extents_[0], effect_clock_at_start_, in_);
  if (!context_->model.FinishRead(*std::exchange(read_, std::nullopt), in_, &error)) Fail(error);
}

void SimRequest::FinishModel(WriteOutcome outcome) {
  if (read_.has_value()) context_->model.ForgetRead(*std::exchange(read_, std::nullopt));
  if (write_ == nullptr) return;
  context_->effect.OnWriteOver(extents_, outcome);
  context_->model.FinishWrite(write_, outcome);
  if (outcome == WriteOutcome::kUnknown) unsettled_write_ = std::move(write_);
  write_ = nullptr;
}

void SimRequest::CheckUntouched() const {
  const auto garbled = [](std::byte b) { return b == kGarbled; };
  if (!std::all_of(in_.begin(), in_.end(), garbled))
    Fail("somebody wrote into it after it was done");
}

}  // namespace vof
