// SPDX-License-Identifier: Apache-2.0
#include "core/engine/target_request_layout.h"

#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace vof {
namespace {

TEST(TargetRequestLayoutTest, NothingToPlace) {
  const RequestLayout layout = PlaceRequest({}, 16);
  EXPECT_EQ(layout.first_bytes, 0u);
  EXPECT_EQ(layout.second_bytes, 0u);
}

TEST(TargetRequestLayoutTest, AWriteHasItsStatusInTheGapBeforeTheHeader) {
  const RequestLayout layout = PlaceRequest({.out_bytes = 16 + 4096, .in_bytes = 1}, 16);
  EXPECT_EQ(layout.in_offset, 0u);
  EXPECT_EQ(layout.out_offset, 4080u);
  EXPECT_EQ(layout.first_bytes, 8192u);
}

TEST(TargetRequestLayoutTest, AReadHasItsHeaderBehindTheData) {
  const RequestLayout layout = PlaceRequest({.out_bytes = 16, .in_bytes = 4097}, 16);
  EXPECT_EQ(layout.in_offset, 0u);
  EXPECT_EQ(layout.out_offset, 4104u);
}

// Parts never overlap, data is aligned, and no allocation passes the largest class, for every
// mixture.
TEST(TargetRequestLayoutTest, EveryMixture) {
  const std::vector<uint32_t> sizes = {0,
                                       1,
                                       8,
                                       16,
                                       17,
                                       100,
                                       4095,
                                       4096,
                                       4097,
                                       8192,
                                       65536,
                                       1u << 20,
                                       (4u << 20) - 1,
                                       4u << 20,
                                       kMaxRequestBytes};
  for (uint32_t header : {0u, 12u, 16u, 4096u, 5000u}) {
    for (uint32_t out : sizes) {
      for (uint32_t in : sizes) {
        for (uint32_t segments : {0u, 96u, 26400u}) {
          SCOPED_TRACE(testing::Message() << header << " " << out << " " << in << " " << segments);
          const RequestLayout at =
              PlaceRequest({.out_bytes = out, .in_bytes = in, .segment_bytes = segments}, header);
          ASSERT_LE(at.first_bytes, 1u << BufferPool::kMaxClassShift);
          ASSERT_TRUE(at.second_bytes == 0 || at.second_bytes == in);
          std::vector<std::pair<uint32_t, uint32_t>> parts;
          if (out > 0) parts.emplace_back(at.out_offset, out);
          if (in > 0 && at.second_bytes == 0) parts.emplace_back(at.in_offset, in);
          if (segments > 0) parts.emplace_back(at.segment_offset, segments);
          for (size_t i = 0; i < parts.size(); ++i) {
            ASSERT_LE(parts[i].first + parts[i].second, at.first_bytes);
            for (size_t k = 0; k < i; ++k) {
              ASSERT_TRUE(parts[i].first + parts[i].second <= parts[k].first ||
                          parts[k].first + parts[k].second <= parts[i].first);
            }
          }
          ASSERT_TRUE(out <= header || (at.out_offset + header) % 4096 == 0);
          ASSERT_TRUE(in < 4096 || at.in_offset % 4096 == 0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace vof
