// SPDX-License-Identifier: Apache-2.0
//
// The initiator's engines, talking to a target whose every byte comes from a fuzzer.
//
//   FuzzInitiator<V5>(data);       // the first byte chooses control queue or virtqueue
//
// Answers that are formally right would be rare in random input, so an event may also ask for one:
// the right id for the oldest command that is not answered, with a value of the input's.
#ifndef VOF_TESTING_FUZZ_ENGINE_INITIATOR_WORLD_H_
#define VOF_TESTING_FUZZ_ENGINE_INITIATOR_WORLD_H_

#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/check.h"
#include "core/engine/initiator_control_stream.h"
#include "core/engine/initiator_virtqueue_stream.h"
#include "core/wire/codec.h"
#include "testing/fuzz/engine_driver.h"
#include "testing/fuzz/engine_script.h"

namespace vof {

// The commands in what an initiator has sent, and right answers to them.
template <Codec C>
class FuzzAnswers {
 public:
  void OnOutput(std::vector<std::byte> bytes) {
    sent_.insert(sent_.end(), bytes.begin(), bytes.end());
    while (TakeCommand()) {
    }
  }
  // Nothing when no command waits.
  std::vector<std::byte> Next(uint64_t value) {
    if (waiting_.empty()) return {};
    const Sent sent = std::move(waiting_.front());
    waiting_.pop_front();
    Completion completion;
    completion.command_id = sent.command.command_id;
    completion.value = value;
    completion.generation = static_cast<uint32_t>(value >> 32);
    completion.grant = static_cast<uint16_t>(value & 3);
    uint64_t payload_bytes = 0;
    for (const Segment& segment : sent.writable) payload_bytes += segment.length_bytes;
    if constexpr (!C::kSegmentedStreams) payload_bytes = sent.command.in_length;
    completion.used_length = completion.inline_length = static_cast<uint32_t>(payload_bytes);
    completion.ndesc = static_cast<uint16_t>(sent.writable.size());
    std::vector<std::byte> bytes(kHeaderBytes);
    C::EncodeCompletion(sent.command.kind, completion, HeaderOut(bytes.data(), kHeaderBytes));
    for (const Segment& segment : sent.writable) {
      bytes.resize(bytes.size() + C::kDescriptorBytes);
      C::EncodeSegment(segment, std::span(bytes).last(C::kDescriptorBytes));
    }
    bytes.resize(bytes.size() + payload_bytes, std::byte{0x5a});
    return bytes;
  }

 private:
  struct Sent {
    Command command;
    std::vector<Segment> writable;  // `ref`
  };

  bool TakeCommand() {
    if (sent_.size() < kHeaderBytes) return false;
    Sent sent;
    const WireError error =
        C::DecodeCommand(std::span(sent_).template first<kHeaderBytes>(), sent.command);
    Check(error == WireError::kNone, "what an initiator sends can be decoded");
    size_t size = kHeaderBytes;
    uint64_t readable_bytes = sent.command.out_length;
    if (sent.command.kind == CommandKind::kConnect) readable_bytes = kConnectBodyBytes;
    if constexpr (C::kSegmentedStreams) {
      const size_t segments = sent.command.kind == CommandKind::kConnect ? 1 : sent.command.ndesc;
      if (sent_.size() < size + segments * C::kDescriptorBytes) return false;
      for (size_t i = 0; i < segments; ++i, size += C::kDescriptorBytes) {
        const Segment segment =
            C::DecodeSegment(std::span(sent_).subspan(size, C::kDescriptorBytes));
        if (segment.writable) sent.writable.push_back(segment);
        if (sent.command.kind == CommandKind::kVq && !segment.writable) {
          readable_bytes += segment.length_bytes;
        }
      }
    }
    if (sent_.size() < size + readable_bytes) return false;
    sent_.erase(sent_.begin(), sent_.begin() + static_cast<ptrdiff_t>(size + readable_bytes));
    waiting_.push_back(std::move(sent));
    return true;
  }

  std::vector<std::byte> sent_;
  std::deque<Sent> waiting_;
};

inline ConnectBody FuzzBody() {
  return {.initiator_name = "host", .target_name = "disk", .token = {}};
}

// What both kinds of queue have in common: bytes, time, room, the end.
template <Codec C>
bool PlayOnWire(const FuzzEvent& event, FuzzDriver& driver, FuzzAnswers<C>& answers,
                MonotonicTime* now) {
  answers.OnOutput(driver.TakeOutput());
  switch (event.code) {
    case 1:
      *now += static_cast<Nanoseconds>(event.number() % (10ull * kNanosecondsPerSecond));
      break;
    case 2:
      driver.set_room(event.number());
      break;
    case 3:
      driver.Close(CloseReason::kPeerClosed, *now);
      break;
    case 4:
    case 5:
    case 6:
      driver.Feed(answers.Next(event.number()), *now);
      break;
    case 7:
    case 8:
    case 9:
      driver.Feed(event.bytes, *now);
      break;
    default:
      return false;
  }
  return true;
}

template <Codec C>
void FuzzControlQueue(FuzzScript script, size_t scratch_bytes) {
  MonotonicTime now = kNanosecondsPerSecond;
  int pending = 0, ended = 0;
  InitiatorControlStream<C>* engine = nullptr;
  InitiatorSessionOptions options;
  options.handshake.dialect = C::kDialect;
  options.handshake.queues = 3;
  options.keepalive = kNanosecondsPerSecond;
  options.on_open_virtqueues = [&](const SessionInfo& info) {
    Check(info.queue_sizes.size() <= 3, "no more virtqueues than wanted");
    engine->session().VirtqueuesOpened();
  };
  options.on_config_changed = [&] {
    ++pending;
    engine->session().ReadConfig({{.offset = 0, .bytes = 8}, {.offset = 20, .bytes = 4}},
                                 [&](const absl::StatusOr<ConfigSnapshot>&) { --pending; });
  };
  options.on_ended = [&](const absl::Status&) { ++ended; };
  auto owned = std::make_unique<InitiatorControlStream<C>>(FuzzBody(), options);
  engine = owned.get();
  FuzzDriver driver(std::move(owned), scratch_bytes);
  FuzzAnswers<C> answers;
  driver.Run(now);
  for (FuzzEvent event; script.Next(&event);) {
    const auto done = [&](const absl::Status&) { --pending; };
    if (!PlayOnWire<C>(event, driver, answers, &now) && pending < 64 && ended == 0) {
      ++pending;
      switch (event.code) {
        case 10:
          engine->session().Reset(done);
          break;
        case 11:
          engine->session().WriteConfig({.offset = 32, .bytes = 1}, event.number(), done);
          break;
        case 12:
          engine->session().Ping([&](const absl::StatusOr<Nanoseconds>&) { --pending; });
          break;
        default:
          --pending;
          engine->session().Disconnect();
      }
    }
    driver.Run(now);
  }
  driver.End(now);
  Check(pending == 0, "every operation is answered once");
  Check(ended == 1, "the end is told once");
}

// A request whose buffers are allocations of their own.
struct FuzzRequest {
  FuzzRequest(size_t out_bytes, size_t in_bytes, size_t cut)
      : out(out_bytes), in(in_bytes), in_rest(cut % 700) {
    readable.emplace_back(out.data(), out.size());
    writable.emplace_back(in.data(), in.size());
    writable.emplace_back(in_rest.data(), in_rest.size());
    request.readable = readable;
    request.writable = writable;
    request.context = this;
    request.done = [](InitiatorRequest* r) {
      Check(++static_cast<FuzzRequest*>(r->context)->num_done == 1, "a request is done once");
    };
  }
  std::vector<std::byte> out, in, in_rest;
  std::vector<ConstBuffer> readable;
  std::vector<MutableBuffer> writable;
  InitiatorRequest request;
  int num_done = 0;
};

template <Codec C>
void FuzzVirtqueue(FuzzScript script, size_t scratch_bytes, bool credits) {
  MonotonicTime now = kNanosecondsPerSecond;
  int ended = 0;
  std::vector<std::unique_ptr<FuzzRequest>> requests;
  auto queue = std::make_shared<InitiatorQueue>(
      InitiatorQueueOptions{.queue_size = 8, .credits = credits, .timeout = kNanosecondsPerSecond});
  InitiatorVirtqueueOptions options;
  options.body = FuzzBody();
  options.on_ended = [&](const absl::Status&) { ++ended; };
  auto owned = std::make_unique<InitiatorVirtqueueStream<C>>(options, queue);
  InitiatorVirtqueueStream<C>* engine = owned.get();
  FuzzDriver driver(std::move(owned), scratch_bytes);
  FuzzAnswers<C> answers;
  driver.Run(now);
  for (FuzzEvent event; script.Next(&event);) {
    if (!PlayOnWire<C>(event, driver, answers, &now) && ended == 0) {
      if (event.code == 15) {
        engine->Drain();
      } else if (requests.size() < 64) {
        const uint64_t size = event.number();
        requests.push_back(
            std::make_unique<FuzzRequest>(16 + size % 9000, (size >> 16) % 40000, size >> 32));
        queue->Submit(&requests.back()->request);
      }
    }
    driver.Run(now);
  }
  driver.End(now);
  Check(ended == 1, "the end is told once");
  for (const auto& request : requests) Check(request->num_done == 1, "every request is done");
  Check(queue->outstanding() == 0, "nothing is outstanding at the end");
}

template <Codec C>
void FuzzInitiator(std::span<const std::byte> data) {
  if (data.empty()) return;
  const auto setup = std::to_integer<unsigned>(data[0]);
  const size_t scratch_bytes = (setup & 2) != 0 ? 65536 : 40;
  const FuzzScript script(data.subspan(1));
  if ((setup & 1) != 0) {
    FuzzVirtqueue<C>(script, scratch_bytes, C::kDialect == Dialect::kV5 && (setup & 4) != 0);
  } else {
    FuzzControlQueue<C>(script, scratch_bytes);
  }
}

}  // namespace vof

#endif  // VOF_TESTING_FUZZ_ENGINE_INITIATOR_WORLD_H_
