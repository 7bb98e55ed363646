// SPDX-License-Identifier: Apache-2.0
//
// For tests of both ends: requests of any size, cut in any way.
//
//   RandomIo io(random, /*max_bytes=*/60'000, /*max_pieces=*/4);
//   queue->Submit(&io.request);
//   ...
//   CheckAnswers(ios, device_options.max_answer_bytes);
#ifndef VOF_CORE_ENGINE_TESTING_RANDOM_IO_H_
#define VOF_CORE_ENGINE_TESTING_RANDOM_IO_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/base/buffer.h"
#include "core/engine/initiator_request.h"
#include "core/engine/testing/fake_device.h"
#include "gtest/gtest.h"

namespace vof {

// A request of random shape whose answer the fake device determines.
struct RandomIo {
  RandomIo(std::mt19937_64& random, uint32_t max_bytes, uint32_t max_pieces) {
    const auto below = [&](uint64_t limit) { return random() % limit; };
    out.resize(16 + below(below(4) == 0 ? max_bytes - 16 : 600));
    in.resize(1 + below(below(4) == 0 ? max_bytes : 600));
    for (char& byte : out) byte = static_cast<char>(random());
    Cut(out, random, max_pieces, &readable);
    Cut(in, random, max_pieces, &writable);
    request.readable = readable;
    request.writable = writable;
    request.context = this;
    request.done = [](InitiatorRequest* r) { ++static_cast<RandomIo*>(r->context)->done; };
  }
  template <typename Buffer>
  static void Cut(std::string& bytes, std::mt19937_64& random, uint32_t max_pieces,
                  std::vector<Buffer>* pieces) {
    size_t at = 0;
    for (uint64_t left = 1 + random() % max_pieces; left > 0; --left) {
      size_t n = left == 1 ? bytes.size() - at : random() % (bytes.size() - at + 1);
      auto* place = reinterpret_cast<std::byte*>(bytes.data()) + at;
      pieces->push_back(Buffer(place, n));
      at += n;
    }
  }
  std::string out, in;
  std::vector<ConstBuffer> readable;
  std::vector<MutableBuffer> writable;
  InitiatorRequest request;
  int done = 0;
};

// Each ended once, without an error, and with what the fake device answers, of which it has at most
// `max_answer_bytes`. The first that did not ends the check.
inline void CheckAnswers(const std::vector<std::unique_ptr<RandomIo>>& ios,
                         size_t max_answer_bytes) {
  for (const auto& io : ios) {
    ASSERT_EQ(io->done, 1);
    ASSERT_EQ(io->request.error, RequestError::kNone) << static_cast<int>(io->request.cause);
    const size_t used = std::min(io->in.size(), max_answer_bytes);
    ASSERT_EQ(io->request.used_length, used);
    ASSERT_EQ(io->in.substr(0, used), FakeAnswer(static_cast<uint8_t>(io->out[0]), used));
  }
}

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TESTING_RANDOM_IO_H_
