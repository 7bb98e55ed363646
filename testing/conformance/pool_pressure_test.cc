// SPDX-License-Identifier: Apache-2.0
//
// The largest requests, a thousand in flight, at a target whose pool holds three of them:
// everything completes, and the control queue goes on meanwhile.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/loopback/loopback_backend.h"
#include "backends/tcp/tcp_backend.h"
#include "core/base/limits.h"
#include "core/runtime/backend.h"
#include "core/runtime/client.h"
#include "core/runtime/target.h"
#include "core/runtime/uri.h"
#include "devices/blk/blk_device.h"
#include "devices/blk/blk_wire.h"
#include "devices/blk/testing/fake_store.h"

namespace vof {
namespace {

constexpr uint32_t kDepth = 1024;
constexpr uint32_t kLeastPings = 20;

// All requests share the memory of their data, which is the same for every write.
struct Load {
  struct Io {
    BlkRequestHeader header;
    std::byte status{0xff};
    ConstBuffer readable[2];
    MutableBuffer writable[2];
    InitiatorRequest request;
    Load* load = nullptr;
  };

  Load() : data(kMaxDataBytes, std::byte{0x5a}), answers(kMaxDataBytes), ios(kDepth) {
    for (uint32_t i = 0; i < kDepth; ++i) Prepare(&ios[i], /*is_write=*/i % 2 == 0);
  }
  void Prepare(Io* io, bool is_write) {
    io->load = this;
    io->header.type = is_write ? kBlkTypeOut : kBlkTypeIn;
    io->header.sector = is_write ? 0 : kMaxDataBytes / kSectorBytes;
    io->readable[0] = ConstBuffer(&io->header, sizeof(io->header));
    io->readable[1] = ConstBuffer(data.data(), data.size());
    io->writable[0] = MutableBuffer(answers.data(), answers.size());
    io->writable[1] = MutableBuffer(&io->status, size_t{1});
    io->request.readable = std::span<const ConstBuffer>(io->readable).first(is_write ? 2 : 1);
    io->request.writable = std::span<const MutableBuffer>(io->writable).last(is_write ? 1 : 2);
    io->request.timeout = 600 * kNanosecondsPerSecond;
    io->request.context = io;
    io->request.done = [](InitiatorRequest* request) {
      Io& io = *static_cast<Io*>(request->context);
      const bool ok = request->error == RequestError::kNone && io.status == std::byte{kBlkStatusOk};
      io.load->failed += ok ? 0 : 1;
      io.load->completed += 1;
    };
  }

  std::vector<std::byte> data, answers;
  std::vector<Io> ios;
  std::atomic<uint32_t> completed = 0;
  std::atomic<uint32_t> failed = 0;
};

class PoolPressureTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    RegisterLoopback(registry_);
    RegisterTcp(registry_);
    TargetServerOptions options;
    options.pool_bytes = kMinPoolBytes;
    target_ = *TargetServer::Start(options, &registry_);
    // Late, and without memory to lend: every request needs the pool, reads too.
    auto store = std::make_shared<FakeStore>(
        FakeStore::Options{.size_bytes = 2 * kMaxDataBytes, .max_delay_reaps = 2});
    ASSERT_TRUE(target_->AddDevice("disk", *MakeBlkDevice({}, store)).ok());
    const auto address = target_->Listen(GetParam());
    ASSERT_TRUE(address.ok()) << address.status();
    Uri uri = *address;
    uri.name = "disk";
    uri_ = *ParseUri(absl::StrCat(FormatUri(uri), "?queue_size=", kDepth, "&io_timeout=600"));
  }
  void TearDown() override { target_->Stop(); }

  BackendRegistry registry_;
  std::unique_ptr<TargetServer> target_;
  Uri uri_;
};

TEST_P(PoolPressureTest, EverythingCompletesAndControlGoesOn) {
  Load load;
  auto client = DeviceClient::Connect(uri_, &registry_, {});
  ASSERT_TRUE(client.ok()) << client.status();
  ClientQueue& queue = (*client)->queue(0);
  ASSERT_EQ(queue.size(), kDepth);
  queue.Post([&] {
    for (Load::Io& io : load.ios) queue.Submit(&io.request);
  });
  uint32_t pings = 0;
  while (load.completed < kDepth) {
    const absl::StatusOr<Nanoseconds> answer = (*client)->Ping();
    ASSERT_TRUE(answer.ok()) << answer.status();
    pings += load.completed < kDepth ? 1 : 0;
  }
  EXPECT_EQ(load.failed, 0u);
  EXPECT_GE(pings, kLeastPings) << "control commands that were answered meanwhile";
  (*client)->Disconnect();
}

INSTANTIATE_TEST_SUITE_P(Fabrics, PoolPressureTest,
                         testing::Values("loop:///", "tcp://127.0.0.1:0"), [](const auto& info) {
                           return info.param.substr(0, info.param.find(':'));
                         });

}  // namespace
}  // namespace vof
