// SPDX-License-Identifier: Apache-2.0
//
// A device for engine tests: answers are predictable, completions happen when the test says so.
//
//   FakeDevice device({.lends_results = true});
//   ... drive an engine ...
//   device.queue(0)->hold = true;             // keep what is submitted
//   device.queue(0)->CompleteNext();          // oldest first; CompleteLast(): newest
//   EXPECT_EQ(answer, FakeAnswer(first_readable_byte, 512));
//
// The answer fills the writable part (at most `max_answer_bytes`): its byte k is first readable
// byte + k. Single-threaded tests only, except for the configuration, which any thread may touch.
#ifndef VOF_CORE_ENGINE_TESTING_FAKE_DEVICE_H_
#define VOF_CORE_ENGINE_TESTING_FAKE_DEVICE_H_

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/device/device.h"

namespace vof {

inline std::string FakeAnswer(uint8_t first, size_t bytes) {
  std::string answer(bytes, '\0');
  for (size_t k = 0; k < bytes; ++k) answer[k] = static_cast<char>(first + k);
  return answer;
}

struct FakeDeviceOptions {
  bool completes_inline = true;
  bool lends_results = false;
  uint32_t readable_header_bytes = 16;
  uint16_t num_queues = 2;
  uint16_t max_queue_size = 128;
  bool shareable = false;
  uint64_t features = 0x6;
  uint64_t epoch = 7;
  uint32_t max_answer_bytes = 64 << 10;
  uint32_t config_bytes = 16;
};

class FakeQueue final : public DeviceQueue {
 public:
  FakeQueue(const FakeDeviceOptions& options, const std::byte* pattern)
      : options_(options), pattern_(pattern) {}

  // --- For tests ---
  bool hold = false;             // keep requests (only without completes_inline) until told
  bool fail = false;             // Fail() every request
  bool cancel_completes = true;  // CancelAll() lets Poll() complete what is held
  bool record = false;           // keep a copy of every readable part in `recorded`
  std::vector<std::string> recorded;
  std::vector<uintptr_t> data_addresses;  // of what follows the header, when `record`
  int batches = 0, activations = 0, cancels = 0;
  int64_t requests = 0;
  uint64_t driver_features = 0;

  size_t held() const { return held_.size(); }
  void CompleteNext() {
    DeviceRequest* request = held_.front();
    held_.pop_front();
    Answer(request);
  }
  void CompleteLast() {
    DeviceRequest* request = held_.back();
    held_.pop_back();
    Answer(request);
  }

  // --- DeviceQueue ---
  QueueTraits traits() const override {
    return {options_.completes_inline, options_.lends_results, options_.readable_header_bytes};
  }
  void Activate(uint64_t features) override {
    ++activations;
    driver_features = features;
  }
  void Submit(std::span<DeviceRequest* const> batch) override {
    ++batches;
    requests += static_cast<int64_t>(batch.size());
    for (DeviceRequest* request : batch) {
      if (record) Record(*request);
      if (options_.completes_inline) {
        Answer(request);
      } else {
        held_.push_back(request);
      }
    }
  }
  int Poll() override {
    int completed = 0;
    for (; !held_.empty() && (!hold || (cancelled_ && cancel_completes)); ++completed)
      CompleteNext();
    if (held_.empty()) cancelled_ = false;
    return completed;
  }
  void CancelAll() override {
    ++cancels;
    cancelled_ = !held_.empty();
  }

 private:
  void Record(const DeviceRequest& request) {
    std::string bytes;
    for (const ConstBuffer& piece : request.readable) {
      bytes.append(reinterpret_cast<const char*>(piece.data), piece.size_bytes);
    }
    recorded.push_back(std::move(bytes));
    data_addresses.push_back(request.readable.empty()
                                 ? 0
                                 : reinterpret_cast<uintptr_t>(request.readable[0].data) +
                                       options_.readable_header_bytes);
  }

  void Answer(DeviceRequest* request) {
    if (fail) return request->Fail();
    const uint8_t first =
        request->readable_bytes == 0 ? 0 : static_cast<uint8_t>(request->readable[0].data[0]);
    const uint32_t used = std::min(request->writable_bytes, options_.max_answer_bytes);
    if (options_.lends_results) {
      Lend(request, first, used);
    } else {
      uint32_t done = 0;
      for (const MutableBuffer& piece : request->writable) {
        const auto n = static_cast<uint32_t>(std::min<size_t>(piece.size_bytes, used - done));
        if (n > 0) std::memcpy(piece.data, pattern_ + ((first + done) & 0xff), n);
        done += n;
      }
    }
    request->Complete(used);
  }

  // The last byte goes inline, as a block status would; the rest is lent.
  void Lend(DeviceRequest* request, uint8_t first, uint32_t used) {
    if (used == 0) return;
    request->AddResult(ConstBuffer(pattern_ + first, used - 1));
    request->AddResultBytes(std::span(pattern_ + ((first + used - 1) & 0xff), 1));
  }

  const FakeDeviceOptions& options_;
  const std::byte* const pattern_;
  std::deque<DeviceRequest*> held_;
  bool cancelled_ = false;
};

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(const FakeDeviceOptions& options = {})
      : options_(options), pattern_(options.max_answer_bytes + 512), config_(options.config_bytes) {
    for (size_t i = 0; i < pattern_.size(); ++i) pattern_[i] = static_cast<std::byte>(i);
  }

  // --- For tests ---
  bool accepts_features = true;
  bool open_fails = false;
  bool open_lacks_memory = false;
  // The newest queue of an index; null when none was opened. It belongs to the engine: valid while
  // that lives.
  FakeQueue* queue(uint16_t index) {
    const auto it = queues_.find(index);
    return it == queues_.end() ? nullptr : it->second;
  }
  // What results are lent from.
  MutableBuffer pattern() { return {pattern_.data(), pattern_.size()}; }
  // A change that the device makes itself: generation grows, listeners are told.
  void ChangeConfig(uint16_t offset, uint8_t value) {
    std::lock_guard lock(mutex_);
    config_.at(offset) = static_cast<std::byte>(value);
    ++generation_;
    for (auto& [token, listener] : listeners_) listener();
  }

  // --- Device ---
  DeviceIdentity identity() const override { return {.device_type = 2}; }
  uint64_t features() const override { return options_.features; }
  uint16_t num_queues() const override { return options_.num_queues; }
  uint16_t max_queue_size() const override { return options_.max_queue_size; }
  bool shareable() const override { return options_.shareable; }
  uint64_t epoch() const override { return options_.epoch; }
  bool AcceptsFeatures(uint64_t) const override { return accepts_features; }

  ConfigError ReadConfig(uint16_t offset, uint8_t bytes, ConfigValue* out) const override {
    std::lock_guard lock(mutex_);
    if (offset >= config_.size()) return ConfigError::kOffset;
    if (bytes > config_.size() - offset) return ConfigError::kBytes;
    *out = {};
    for (int i = 0; i < bytes; ++i) {
      out->value |= static_cast<uint64_t>(config_[offset + i]) << (8 * i);
    }
    out->generation = generation_;
    return ConfigError::kNone;
  }
  ConfigError WriteConfig(uint16_t offset, uint8_t bytes, uint64_t value) override {
    std::lock_guard lock(mutex_);
    if (offset >= config_.size()) return ConfigError::kOffset;
    if (bytes > config_.size() - offset) return ConfigError::kBytes;
    if (offset < kFirstWritableConfigByte) return ConfigError::kReadOnly;
    for (int i = 0; i < bytes; ++i) config_[offset + i] = static_cast<std::byte>(value >> (8 * i));
    ++generation_;
    return ConfigError::kNone;
  }
  absl::StatusOr<std::unique_ptr<DeviceQueue>> OpenQueue(uint16_t index) override {
    if (open_lacks_memory) throw std::bad_alloc();
    if (open_fails) return absl::ResourceExhaustedError("no queue today");
    auto queue = std::make_unique<FakeQueue>(options_, pattern_.data());
    queues_[index] = queue.get();
    return queue;
  }
  std::shared_ptr<void> SubscribeConfig(ConfigListener changed) override {
    std::lock_guard lock(mutex_);
    const int token = next_token_++;
    listeners_[token] = std::move(changed);
    return std::shared_ptr<void>(nullptr, [this, token](void*) {
      std::lock_guard unsubscribe(mutex_);
      listeners_.erase(token);
    });
  }
  size_t num_listeners() const {
    std::lock_guard lock(mutex_);
    return listeners_.size();
  }

  static constexpr uint16_t kFirstWritableConfigByte = 8;

 private:
  const FakeDeviceOptions options_;
  std::vector<std::byte> pattern_;
  std::map<uint16_t, FakeQueue*> queues_;
  mutable std::mutex mutex_;
  std::vector<std::byte> config_;
  uint32_t generation_ = 0;
  int next_token_ = 0;
  std::map<int, ConfigListener> listeners_;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TESTING_FAKE_DEVICE_H_
