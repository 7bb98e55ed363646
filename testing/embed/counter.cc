// SPDX-License-Identifier: Apache-2.0
// A device type of our own - a counter that adds what it is sent - served and used over two
// fabrics.
#include <atomic>
#include <cstdio>
#include <future>

#include "backends/loopback/loopback_backend.h"
#include "backends/tcp/tcp_backend.h"
#include "core/base/little_endian.h"
#include "core/device/buffer_cursor.h"
#include "core/runtime/client.h"
#include "core/runtime/target.h"

class CounterQueue final : public vof::DeviceQueue {
 public:
  explicit CounterQueue(std::atomic<uint64_t>* total) : total_(total) {}
  vof::QueueTraits traits() const override {
    return {.completes_inline = true, .lends_results = true};
  }
  void Activate(uint64_t) override {}
  void Submit(std::span<vof::DeviceRequest* const> batch) override {
    for (vof::DeviceRequest* request : batch) {
      vof::Le64 amount;
      vof::BufferReader in(request->readable);
      if (!in.Read(&amount, sizeof(amount)) || request->writable_bytes < sizeof(amount)) {
        request->Fail();
        continue;
      }
      const vof::Le64 answer = total_->fetch_add(amount) + amount;
      request->AddResultBytes(std::as_bytes(std::span(&answer, 1)));
      request->Complete(sizeof(answer));
    }
  }

 private:
  std::atomic<uint64_t>* total_;
};

class Counter final : public vof::Device {
 public:
  vof::DeviceIdentity identity() const override { return {.device_type = 0xc0}; }  // not virtio's
  uint64_t features() const override { return 0; }
  uint16_t num_queues() const override { return 1; }
  uint16_t max_queue_size() const override { return 128; }
  bool shareable() const override { return true; }
  absl::StatusOr<std::unique_ptr<vof::DeviceQueue>> OpenQueue(uint16_t) override {
    return std::make_unique<CounterQueue>(&total_);
  }

 private:
  std::atomic<uint64_t> total_{0};
};

int main() {
  vof::BackendRegistry registry;
  vof::RegisterTcp(registry);
  vof::RegisterLoopback(registry);
  auto target = vof::TargetServer::Start({}, &registry).value();
  target->AddDevice("counter", std::make_shared<Counter>()).IgnoreError();
  for (const char* address : {"loop:///", "tcp://127.0.0.1:0"}) target->Listen(address).value();
  for (const std::string& uri : target->DeviceUris("counter")) {
    auto client = vof::DeviceClient::Connect(vof::ParseUri(uri).value(), &registry, {}).value();
    vof::Le64 amount = 21, total;
    const vof::ConstBuffer out(&amount, sizeof(amount));
    const vof::MutableBuffer in(&total, sizeof(total));
    std::promise<void> done;
    vof::InitiatorRequest request{.readable = {&out, 1}, .writable = {&in, 1}, .context = &done};
    request.done = [](vof::InitiatorRequest* r) {
      static_cast<std::promise<void>*>(r->context)->set_value();
    };
    client->queue(0).Post([&] { client->queue(0).Submit(&request); });
    done.get_future().wait();
    std::printf("%s: the counter stands at %llu\n", uri.c_str(),
                static_cast<unsigned long long>(total));
  }
}
