// SPDX-License-Identifier: Apache-2.0
//
// For tests of InitiatorVirtqueueStream: a request of a shape that block reads have, and a fixture
// that connects an engine and forges answers in either dialect.
//
//   using HostileTest = VirtqueueStreamFixture<V5>;
//   TEST_F(HostileTest, X) { Connect({.queue_size = 2}); Io io(10); ... driver_->Feed(Answer(io, 0,
//   data)); }
#ifndef VOF_CORE_ENGINE_INITIATOR_VIRTQUEUE_FIXTURE_H_
#define VOF_CORE_ENGINE_INITIATOR_VIRTQUEUE_FIXTURE_H_

#include <array>
#include <memory>
#include <numeric>
#include <string>

#include "core/engine/initiator_test_peer.h"
#include "core/engine/initiator_virtqueue_stream.h"
#include "gtest/gtest.h"

namespace vof {

inline constexpr Nanoseconds kTimeout = Milliseconds(500);

// A read-like request: 16 bytes out, `data` bytes and a status in.
struct Io {
  explicit Io(size_t data_bytes, size_t out_bytes = 0)
      : data(data_bytes, 'd'), out(out_bytes, 'o') {
    readable = {ConstBuffer(header.data(), header.size()), ConstBuffer(out.data(), out.size())};
    writable = {MutableBuffer(data.data(), data.size()), MutableBuffer(&status, 1)};
    request.readable = readable;
    request.writable = writable;
    request.context = this;
    request.done = [](InitiatorRequest* r) { ++static_cast<Io*>(r->context)->done; };
  }
  Io(const Io&) = delete;
  bool Ended(RequestError error) const { return done == 1 && request.error == error; }

  std::string header = std::string(16, 'h');
  std::string data, out;
  char status = 'x';
  std::array<ConstBuffer, 2> readable;
  std::array<MutableBuffer, 2> writable;
  InitiatorRequest request;
  int done = 0;
};

inline std::string Pattern(size_t bytes, char first = 'A') {
  std::string text(bytes, '\0');
  std::iota(text.begin(), text.end(), first);
  return text;
}

template <typename C>
class VirtqueueStreamFixture : public testing::Test {
 protected:
  void Make(InitiatorQueueOptions queue_options) {
    queue_options.timeout = kTimeout;
    queue_ = std::make_shared<InitiatorQueue>(queue_options);
    InitiatorVirtqueueOptions options;
    options.instance_id = 7;
    options.queue_index = 2;
    options.body = {.initiator_name = "vqn.me", .target_name = "disk"};
    options.on_connected = [this] { ++connected_; };
    options.on_drained = [this] { ++drained_; };
    options.on_ended = [this](const absl::Status& why) { ++ended_, why_ = why; };
    engine_ = std::make_unique<InitiatorVirtqueueStream<C>>(options, queue_);
    driver_ = std::make_unique<EngineDriver>(engine_.get());
  }
  void Connect(InitiatorQueueOptions queue_options) {
    Make(queue_options);
    const std::string connect = driver_->Turn();
    ASSERT_EQ(connect.size(),
              kHeaderBytes + kConnectBodyBytes + (C::kSegmentedStreams ? C::kDescriptorBytes : 0));
    driver_->Feed(CompletionBytes<C>(CommandKind::kConnect, {.instance_id = 7}));
    driver_->Turn();
    ASSERT_EQ(connected_, 1);
  }
  // The answer to `io` under `id`: `data` into its first writable piece, then the status.
  std::string Answer(const Io& io, uint16_t id, const std::string& data, uint16_t grant = 1) {
    Completion completion;
    completion.command_id = id;
    completion.used_length = completion.inline_length = static_cast<uint32_t>(data.size() + 1);
    completion.grant = grant;
    completion.ndesc = io.data.empty() ? 1 : 2;
    std::string bytes = CompletionBytes<C>(CommandKind::kVq, completion);
    if constexpr (C::kSegmentedStreams) {
      uint16_t segment = io.out.empty() ? 1 : 2;
      if (!io.data.empty()) {
        bytes += SegmentBytes<C>({.length_bytes = static_cast<uint32_t>(data.size()),
                                  .id = segment++,
                                  .writable = true});
      }
      bytes += SegmentBytes<C>({.length_bytes = 1, .id = segment, .writable = true});
    }
    return bytes + data + '\0';
  }
  // The target broke a rule: closed, everything pending ended with kProtocol, nothing twice.
  void ExpectProtocolEnd(std::initializer_list<const Io*> ios) {
    driver_->Turn();
    EXPECT_TRUE(engine_->finished());
    EXPECT_EQ(ended_, 1);
    EXPECT_EQ(FailureKindOf(why_), FailureKind::kProtocol) << why_;
    for (const Io* io : ios) EXPECT_TRUE(io->Ended(RequestError::kProtocol));
  }

  std::shared_ptr<InitiatorQueue> queue_;
  std::unique_ptr<InitiatorVirtqueueStream<C>> engine_;
  std::unique_ptr<EngineDriver> driver_;
  int connected_ = 0, drained_ = 0, ended_ = 0;
  absl::Status why_;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_INITIATOR_VIRTQUEUE_FIXTURE_H_
