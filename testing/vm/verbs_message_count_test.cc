// SPDX-License-Identifier: Apache-2.0
//
// What a block request costs on an RDMA device, counted where the backend calls it: the second
// table of docs/performance.md. What the engines ask for is counted in
// core/engine/keyed_message_count_test.cc; here is what becomes of it. Runs in a guest, and on this
// machine with a device in memory.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/verbs/testing/counting_verbs.h"
#include "backends/verbs/verbs_backend.h"
#include "core/base/limits.h"
#include "core/engine/testing/request_table.h"
#include "core/runtime/client.h"
#include "core/runtime/target.h"
#include "devices/blk/blk_device.h"
#include "devices/blk/blk_wire.h"
#include "devices/blk/store_memory.h"
#include "testing/client/run_request.h"
#include "testing/vm/device_of_test.h"

namespace vof {
namespace {

constexpr size_t kArenaBytes = 1u << 20;
// Apart, so that no two pieces are one.
constexpr size_t kGapBytes = 64;

// A device, a target, and an initiator.
class CountingSetup {
 public:
  // For each shape a read, then for each a write.
  std::vector<VerbsCounts> CountAll(size_t inline_bytes, const std::string& dialect) {
    std::vector<VerbsCounts> all;
    Start(inline_bytes, dialect);
    if (arena_registration_ == nullptr) return all;
    (void)Count(CountedShapes()[0], false);  // what is done once
    for (const bool write : {false, true}) {
      for (const CountedShape& shape : CountedShapes()) all.push_back(Count(shape, write));
    }
    return all;
  }

 private:
  void Start(size_t inline_bytes, const std::string& dialect) {
    registry_.Add(std::make_unique<VerbsBackend>(VerbsOptions{}, calls_));
    TargetServerOptions options;
    options.limits.inline_request_bytes = static_cast<uint32_t>(inline_bytes);
    options.limits.inline_completion_bytes = static_cast<uint32_t>(inline_bytes);
    auto target = TargetServer::Start(options, &registry_);
    ASSERT_TRUE(target.ok()) << target.status();
    target_ = *std::move(target);
    auto store = MakeMemoryStore({.size_bytes = kArenaBytes});
    ASSERT_TRUE(store.ok()) << store.status();
    auto device = MakeBlkDevice({}, *store);
    ASSERT_TRUE(device.ok()) << device.status();
    ASSERT_TRUE(target_->AddDevice("disk", *device).ok());
    ASSERT_TRUE(target_->Listen("verbs://10.77.0.1:0").ok());
    const std::string uri =
        absl::StrCat(target_->DeviceUris("disk")[0], "?keepalive=0s&dialect=", dialect);
    auto client = DeviceClient::Connect(*ParseUri(uri), &registry_, {});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    auto registered = client_->RegisterMemory({arena_.data(), arena_.size()});
    ASSERT_TRUE(registered.ok()) << registered.status();
    arena_registration_ = std::make_unique<MemoryRegistration>(*std::move(registered));
  }

  VerbsCounts Count(const CountedShape& shape, bool write) {
    size_t at = 0;
    const auto place = [&](size_t size_bytes) {
      std::byte* const data = arena_.data() + at;
      at += size_bytes + kGapBytes;
      return data;
    };
    BlkRequestHeader header;
    header.type = write ? kBlkTypeOut : kBlkTypeIn;
    std::vector<ConstBuffer> readable = {{place(sizeof(header)), sizeof(header)}};
    std::memcpy(arena_.data(), &header, sizeof(header));
    std::vector<MutableBuffer> writable;
    for (const size_t size_bytes : shape.data) {
      std::byte* const data = place(size_bytes);
      if (write) {
        readable.push_back({data, size_bytes});
      } else {
        writable.push_back({data, size_bytes});
      }
    }
    std::byte* const status = place(1);
    *status = std::byte{0xff};
    writable.push_back({status, 1});

    const VerbsCounts before = Settled();
    EXPECT_EQ(RunRequest(&client_->queue(0), readable, writable), RequestError::kNone);
    EXPECT_EQ(*status, std::byte{kBlkStatusOk});
    return Settled() - before;
  }

  // Completions of what was posted come a little later.
  VerbsCounts Settled() const {
    VerbsCounts last = calls_->counts();
    for (int same = 0; same < 10;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const VerbsCounts now = calls_->counts();
      same = now == last ? same + 1 : 0;
      last = now;
    }
    return last;
  }

  std::shared_ptr<CountingVerbs> calls_ = std::make_shared<CountingVerbs>(DeviceOfTest());
  BackendRegistry registry_;
  std::vector<std::byte> arena_ = std::vector<std::byte>(kArenaBytes);
  std::unique_ptr<TargetServer> target_;
  std::unique_ptr<DeviceClient> client_;
  std::unique_ptr<MemoryRegistration> arena_registration_;
};

std::string Cell(const VerbsCounts& c) {
  return absl::StrCat(c.sends, " / ", c.fetches, " / ", c.stores, " / ", c.doorbells, " / ",
                      c.completions);
}

TEST(VerbsMessageCountTest, TheTableOfTheDocumentsIsTrue) {
  ExpectTableOfDocuments<VerbsCounts>(
      {CountingSetup().CountAll(0, "ref"), CountingSetup().CountAll(0, "v5"),
       CountingSetup().CountAll(kDefaultInlineBytes, "v5")},
      Cell);
}

}  // namespace
}  // namespace vof
