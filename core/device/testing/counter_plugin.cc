// SPDX-License-Identifier: Apache-2.0
//
// A plugin with one device type, "test-counter": each request returns the next value of a counter.
// It shows what a plugin needs, and the tests load it.
#include <charconv>
#include <memory>
#include <system_error>

#include "core/device/device_plugin.h"

namespace vof {
namespace {

bool ParseStep(const std::string& text, uint64_t* step) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *step);
  return error == std::errc() && rest == end;
}

class CounterQueue final : public DeviceQueue {
 public:
  explicit CounterQueue(uint64_t step) : step_(step) {}
  QueueTraits traits() const override { return {.completes_inline = true, .lends_results = true}; }
  void Activate(uint64_t) override {}
  void Submit(std::span<DeviceRequest* const> batch) override {
    for (DeviceRequest* request : batch) {
      if (request->writable_bytes < sizeof(value_)) {
        request->Fail();
        continue;
      }
      value_ += step_;
      request->AddResultBytes(std::as_bytes(std::span(&value_, 1)));
      request->Complete(sizeof(value_));
    }
  }

 private:
  const uint64_t step_;
  uint64_t value_ = 0;
};

class Counter final : public Device {
 public:
  explicit Counter(uint64_t step) : step_(step) {}
  DeviceIdentity identity() const override { return {.device_type = 0x7fff}; }
  uint64_t features() const override { return 0; }
  uint16_t num_queues() const override { return 1; }
  uint16_t max_queue_size() const override { return 16; }
  bool shareable() const override { return true; }
  uint64_t epoch() const override { return 1; }
  absl::StatusOr<std::unique_ptr<DeviceQueue>> OpenQueue(uint16_t) override {
    return std::make_unique<CounterQueue>(step_);
  }

 private:
  const uint64_t step_;
};

class CounterFactory final : public DeviceFactory {
 public:
  std::string_view type() const override { return "test-counter"; }
  std::vector<DeviceOptionHelp> options() const override {
    return {{"step", "what each request adds; 1"}};
  }
  std::optional<DeviceOptionProblem> Check(const DeviceOptionList& options) const override {
    uint64_t step = 0;
    for (const DeviceOption& option : options) {
      if (!ParseStep(option.value, &step)) {
        return DeviceOptionProblem{option.key, "not a number: " + option.value};
      }
    }
    return std::nullopt;
  }
  absl::StatusOr<std::shared_ptr<Device>> Make(std::string_view,
                                               const DeviceOptionList& options) const override {
    uint64_t step = 1;
    for (const DeviceOption& option : options) ParseStep(option.value, &step);
    return std::make_shared<Counter>(step);
  }
};

}  // namespace
}  // namespace vof

extern "C" const vof::DevicePluginV1* vof_device_plugin_v1() {
  static constexpr vof::DevicePluginV1 kPlugin = {
      .register_types = [](vof::DeviceFactoryRegistry* registry) {
        return registry->Add(std::make_unique<vof::CounterFactory>());
      }};
  return &kPlugin;
}
