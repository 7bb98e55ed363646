// SPDX-License-Identifier: Apache-2.0
//
// The initiator's keyed engines, talking to a target on the in-process fabric whose every message
// and access comes from a fuzzer.
//
//   FuzzKeyedInitiator<V5>(data);       // the first byte chooses control queue or virtqueue
//
// Answers that are formally right would be rare in random input, so an event may also ask for one,
// and for an access to the memory that the oldest request shows.
#ifndef VOF_TESTING_FUZZ_ENGINE_INITIATOR_KEYED_WORLD_H_
#define VOF_TESTING_FUZZ_ENGINE_INITIATOR_KEYED_WORLD_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/base/check.h"
#include "core/engine/initiator_control_keyed.h"
#include "core/engine/initiator_virtqueue_keyed.h"
#include "core/transport/region_map.h"
#include "core/wire/codec.h"
#include "core/wire/v5_inline.h"
#include "testing/fuzz/engine_initiator_world.h"
#include "testing/fuzz/engine_message_lane.h"
#include "testing/fuzz/engine_script.h"

namespace vof {

// The commands that an initiator has sent, right answers to them, and what they show.
template <Codec C>
class FuzzKeyedAnswers {
 public:
  explicit FuzzKeyedAnswers(bool inline_accepted) : inline_accepted_(inline_accepted) {}

  void OnMessages(const FuzzMessageLane::Messages& messages) {
    for (const auto& message : messages) {
      Sent sent;
      Check(message.size() >= kHeaderBytes, "an initiator sends whole commands");
      const HeaderIn header = std::span(message).template first<kHeaderBytes>();
      Check(C::DecodeCommand(header, sent.command) == WireError::kNone,
            "what an initiator sends can be decoded");
      size_t rest = message.size() - kHeaderBytes;
      if (inline_accepted_ && C::kDialect == Dialect::kV5 &&
          sent.command.kind == CommandKind::kVq) {
        rest = DecodeInlineFields(header).ndesc * C::kDescriptorBytes;
      }
      for (size_t at = 0; at + C::kDescriptorBytes <= rest; at += C::kDescriptorBytes) {
        sent.shown.push_back(
            C::DecodeSegment(std::span(message).subspan(kHeaderBytes + at, C::kDescriptorBytes)));
      }
      waiting_.push_back(std::move(sent));
    }
  }
  // Nothing when no command waits. Two bits of `value` say how long and how much of it inline.
  std::vector<std::byte> Next(uint64_t value) {
    if (waiting_.empty()) return {};
    const Sent sent = std::move(waiting_.front());
    waiting_.pop_front();
    Completion completion;
    completion.command_id = sent.command.command_id;
    completion.value = value;
    completion.generation = static_cast<uint32_t>(value >> 32);
    completion.grant = static_cast<uint16_t>(value & 3);
    uint64_t writable_bytes = sent.command.in_length;
    for (const Segment& segment : sent.shown) {
      if (!segment.writable) continue;
      ++completion.ndesc;
      writable_bytes += segment.length_bytes;
    }
    completion.used_length =
        static_cast<uint32_t>((value & 4) != 0 ? writable_bytes / 2 : writable_bytes);
    const uint32_t most_inline = (value & 8) != 0 ? 40 : 4096;
    if (inline_accepted_) completion.inline_length = std::min(completion.used_length, most_inline);
    std::vector<std::byte> bytes(kHeaderBytes);
    C::EncodeCompletion(sent.command.kind, completion, HeaderOut(bytes.data(), kHeaderBytes));
    bytes.resize(kHeaderBytes + completion.inline_length, std::byte{0x5a});
    return bytes;
  }
  // What the oldest command shows, or nothing.
  RemoteBuffer Shown(uint64_t index) const {
    if (waiting_.empty() || waiting_.front().shown.empty()) return {};
    const auto& shown = waiting_.front().shown;
    const Segment& segment = shown[index % shown.size()];
    return {segment.address, segment.length_bytes, segment.key};
  }

 private:
  struct Sent {
    Command command;
    std::vector<Segment> shown;
  };

  const bool inline_accepted_;
  std::deque<Sent> waiting_;
};

// An initiator's pool and request buffers, and the connection of one queue.
template <Codec C>
struct FuzzKeyedInitiatorWorld {
  FuzzKeyedInitiatorWorld(unsigned setup, bool inline_accepted)
      : setup_bits(setup), answers(inline_accepted) {
    auto registered = domain.Register(pool.slab(), Access::kRemoteReadWrite);
    Check(registered.ok() && regions.Add(*std::move(registered)), "the pool is registered");
    keyed.regions = &regions;
    keyed.pool = &pool;
    keyed.limits.inline_accepted = inline_accepted;
    keyed.limits.max_inline_request_bytes = 600;
    keyed.limits.max_inline_completion_bytes = 700;
  }

  void Connect(std::unique_ptr<MessageEngine> engine) {
    FabricFaults faults{.seed = setup_bits};
    if ((setup_bits & 2) != 0) faults.longest_effect_delay_turns = 5;
    if ((setup_bits & 8) != 0) faults.longest_completion_delay_turns = 5;
    if ((setup_bits & 16) != 0) faults.again_every_posts = 3;
    lane = std::make_unique<FuzzMessageLane>(std::move(engine), &memory, &domain, faults);
    lane->Run(now);
  }
  // What both kinds of queue have in common: messages, accesses, time, the end.
  bool Play(const FuzzEvent& event) {
    answers.OnMessages(lane->TakeMessages());
    switch (event.code) {
      case 1:
        now += static_cast<Nanoseconds>(event.number() % (10ull * kNanosecondsPerSecond));
        break;
      case 2:
        lane->set_keeps_receives((event.number() & 1) != 0);
        break;
      case 3:
        lane->Close();
        break;
      case 4:
      case 5:
        if (const auto answer = answers.Next(event.number()); !answer.empty()) lane->Send(answer);
        break;
      case 6:
        if (const RemoteBuffer shown = answers.Shown(event.number()); shown.size_bytes > 0) {
          lane->Reach(shown, (event.lane & 1) != 0);
        }
        break;
      case 7:
      case 8:
        lane->Send(event.bytes);
        break;
      case 9:
        lane->SendImmediate(static_cast<uint32_t>(event.number()));
        break;
      default:
        return false;
    }
    return true;
  }
  void End() {
    lane->End(now);
    lane.reset();
    Check(pool.in_use_bytes() == 0, "all memory is back in the pool");
    Check(!pool.has_waiters(), "nobody waits for memory");
  }

  const unsigned setup_bits;
  MonotonicTime now = kNanosecondsPerSecond;
  FuzzPeerMemory memory;
  FabricDomain domain{FuzzDomainOptions(2)};
  BufferPool pool{kMinPoolBytes};
  RegionMap regions;
  InitiatorKeyedOptions keyed;
  FuzzKeyedAnswers<C> answers;
  std::unique_ptr<FuzzMessageLane> lane;
};

template <Codec C>
void FuzzKeyedControlQueue(FuzzScript script, unsigned setup) {
  FuzzKeyedInitiatorWorld<C> world(setup, /*inline_accepted=*/false);
  int pending = 0, ended = 0;
  InitiatorControlKeyed<C>* engine = nullptr;
  InitiatorSessionOptions options;
  options.handshake.dialect = C::kDialect;
  options.handshake.transmission = Transmission::kKeyed;
  options.handshake.queues = 3;
  options.keepalive = kNanosecondsPerSecond;
  options.on_open_virtqueues = [&](const SessionInfo& info) {
    Check(info.queue_sizes.size() <= 3, "no more virtqueues than wanted");
    Check(info.inline_completion_bytes <= kDefaultInlineBytes, "inline data has a place");
    engine->session().VirtqueuesOpened();
  };
  options.on_ended = [&](const absl::Status&) { ++ended; };
  auto owned = std::make_unique<InitiatorControlKeyed<C>>(FuzzBody(), options, world.keyed);
  engine = owned.get();
  world.Connect(std::move(owned));
  for (FuzzEvent event; script.Next(&event);) {
    if (!world.Play(event) && pending < 64 && ended == 0) {
      if (event.code == 15) {
        engine->session().Disconnect();
      } else {
        ++pending;
        engine->session().Reset([&](const absl::Status&) { --pending; });
      }
    }
    world.lane->Run(world.now);
  }
  world.End();
  Check(pending == 0, "every operation is answered once");
  Check(ended == 1, "the end is told once");
}

template <Codec C>
void FuzzKeyedVirtqueue(FuzzScript script, unsigned setup) {
  const bool is_v5 = C::kDialect == Dialect::kV5;
  FuzzKeyedInitiatorWorld<C> world(setup, is_v5 && (setup & 32) != 0);
  int ended = 0;
  std::vector<std::unique_ptr<FuzzRequest>> requests;
  auto queue = std::make_shared<InitiatorQueue>(InitiatorQueueOptions{
      .queue_size = 8, .credits = is_v5 && (setup & 4) != 0, .timeout = kNanosecondsPerSecond});
  InitiatorVirtqueueOptions options;
  options.body = FuzzBody();
  options.on_ended = [&](const absl::Status&) { ++ended; };
  auto owned = std::make_unique<InitiatorVirtqueueKeyed<C>>(options, world.keyed, queue);
  InitiatorVirtqueueKeyed<C>* engine = owned.get();
  world.Connect(std::move(owned));
  for (FuzzEvent event; script.Next(&event);) {
    if (!world.Play(event) && ended == 0) {
      if (event.code == 15) {
        engine->Drain();
      } else if (requests.size() < 64) {
        const uint64_t size = event.number();
        requests.push_back(
            std::make_unique<FuzzRequest>(16 + size % 9000, (size >> 16) % 40000, size >> 32));
        FuzzRequest& request = *requests.back();
        if (event.code == 14) {  // its memory is registered, for ever
          auto region =
              world.domain.Register({request.in.data(), request.in.size()}, Access::kRemoteWrite);
          if (region.ok()) world.regions.Add(*std::move(region));
        }
        queue->Submit(&request.request);
      }
    }
    world.lane->Run(world.now);
  }
  world.End();
  Check(ended == 1, "the end is told once");
  for (const auto& request : requests) Check(request->num_done == 1, "every request is done");
  Check(queue->outstanding() == 0, "nothing is outstanding at the end");
}

template <Codec C>
void FuzzKeyedInitiator(std::span<const std::byte> data) {
  if (data.empty()) return;
  const auto setup = std::to_integer<unsigned>(data[0]);
  const FuzzScript script(data.subspan(1));
  if ((setup & 1) != 0) {
    FuzzKeyedVirtqueue<C>(script, setup);
  } else {
    FuzzKeyedControlQueue<C>(script, setup);
  }
}

}  // namespace vof

#endif  // VOF_TESTING_FUZZ_ENGINE_INITIATOR_KEYED_WORLD_H_
