// SPDX-License-Identifier: Apache-2.0
//
// Any bytes, in any pieces, as the hello of a side connection. What is taken for a hello says the
// same when it is written again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/ofi/side_hello.h"
#include "core/base/check.h"

namespace vof {
namespace {

// The header's bytes 10-15 mean nothing.
void ClearReserved(std::span<std::byte> hello) { std::fill_n(hello.begin() + 10, 6, std::byte{0}); }

void Fuzz(std::span<const std::byte> data) {
  if (data.empty()) return;
  const size_t piece = 1 + std::to_integer<size_t>(data[0]);
  data = data.subspan(1);
  SideHelloParser parser;
  HelloState state = HelloState::kMore;
  size_t used = 0;
  while (state == HelloState::kMore && used < data.size()) {
    const std::span<std::byte> wanted = parser.Wanted();
    Check(!wanted.empty(), "a parser that wants more has a place for it");
    const size_t part = std::min({wanted.size(), piece, data.size() - used});
    std::copy_n(data.begin() + static_cast<ptrdiff_t>(used), part, wanted.begin());
    used += part;
    Check(used <= kMaxSideHelloBytes, "a hello has a limit");
    state = parser.Filled(part);
  }
  Check((state == HelloState::kMalformed) != parser.problem().empty(), "a refusal says why");
  if (state != HelloState::kComplete) return;
  std::vector<std::byte> read(data.begin(), data.begin() + static_cast<ptrdiff_t>(used));
  ClearReserved(read);
  Check(EncodeHello(parser.hello()) == read, "a hello is written as it was read");
}

}  // namespace
}  // namespace vof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  vof::Fuzz(std::as_bytes(std::span(data, size)));
  return 0;
}
