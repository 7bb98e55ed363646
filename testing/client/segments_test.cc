// SPDX-License-Identifier: Apache-2.0
//
// Requests of more descriptors than the virtqueue has entries. A fabric carries them, whatever the
// size of the queue; a driver with a ring cannot make them, and SEG_MAX does not invite it to.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/runtime/client.h"
#include "devices/blk/blk_wire.h"
#include "gtest/gtest.h"
#include "testing/client/client_fixture.h"
#include "testing/client/run_request.h"

namespace vof {
namespace {

constexpr size_t kQueueSize = 128;
constexpr size_t kPieceBytes = 512;

class SegmentsTest : public ClientFixture {
 protected:
  void Open() {
    auto client = DeviceClient::Connect(TheUri("queues=1&queue_size=128"), &registry_, {});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    ASSERT_EQ(client_->queue(0).size(), kQueueSize);
  }

  // Runs one request and returns the status of the device.
  uint8_t Run(const std::vector<ConstBuffer>& readable,
              const std::vector<MutableBuffer>& writable) {
    EXPECT_EQ(RunRequest(&client_->queue(0), readable, writable), RequestError::kNone);
    return static_cast<uint8_t>(*writable.back().data);
  }

  // A header, `pieces` of data, a status: pieces + 2 descriptors, none next to another in memory.
  void WriteAndReadBack(size_t pieces) {
    std::vector<std::byte> data(pieces * 2 * kPieceBytes), back(data.size());
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7 + i / 512);
    std::byte status{0xff};
    BlkRequestHeader header;
    header.type = kBlkTypeOut;
    header.sector = 8;
    const ConstBuffer header_piece(reinterpret_cast<const std::byte*>(&header), sizeof(header));
    std::vector<ConstBuffer> out = {header_piece};
    std::vector<MutableBuffer> in;
    for (size_t i = 0; i < pieces; ++i) {
      out.emplace_back(data.data() + 2 * i * kPieceBytes, kPieceBytes);
      in.emplace_back(back.data() + 2 * i * kPieceBytes, kPieceBytes);
    }
    EXPECT_EQ(Run(out, {MutableBuffer(&status, 1)}), kBlkStatusOk);
    header.type = kBlkTypeIn;
    in.emplace_back(&status, 1);
    status = std::byte{0xff};
    EXPECT_EQ(Run({header_piece}, in), kBlkStatusOk);
    for (size_t i = 0; i < pieces; ++i) {
      const size_t at = 2 * i * kPieceBytes;
      ASSERT_EQ(std::memcmp(&data[at], &back[at], kPieceBytes), 0) << "piece " << i;
    }
  }

  std::unique_ptr<DeviceClient> client_;
};

TEST_P(SegmentsTest, MoreDescriptorsThanTheQueueHasEntriesAreServed) {
  ASSERT_NO_FATAL_FAILURE(Open());
  for (const size_t pieces :
       {kQueueSize - 2, kQueueSize - 1, kQueueSize, size_t{256}, size_t{515}}) {
    SCOPED_TRACE(pieces);
    WriteAndReadBack(pieces);
  }
}

INSTANTIATE_TEST_SUITE_P(Fabrics, SegmentsTest, EveryFabricAndDialect(), FabricAndDialect);

}  // namespace
}  // namespace vof
