// SPDX-License-Identifier: Apache-2.0
//
// What other initiators sent to another target, sent to ours: the answers must be the recorded ones
// byte by byte, but for what a target is free to choose. Those are, and nothing else:
//   get_vendor_id, get_device_feature, get_generation, size_max of the configuration space.
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/engine/target_directory.h"
#include "core/engine/testing/target_harness.h"
#include "core/wire/ref.h"
#include "devices/blk/blk_device.h"
#include "devices/blk/store_memory.h"
#include "gtest/gtest.h"
#include "testing/golden/expectations.h"
#include "testing/golden/recording.h"

namespace vof {
namespace {

using Bytes = std::vector<std::byte>;

constexpr char kDisk[] = "virtio-target/block/block0.service";
constexpr uint64_t kSectors = 32768;
constexpr size_t kValueOffset = 8;  // of a completion
constexpr uint16_t kSizeMaxOffset = offsetof(BlkConfigSpace, size_max);
constexpr uint16_t kSegMaxOffset = offsetof(BlkConfigSpace, seg_max);

// The disk of the recordings: every sector says its number, over and over.
Bytes DiskBytes() {
  Bytes bytes(kSectors * kSectorBytes);
  for (uint64_t sector = 0; sector < kSectors; ++sector) {
    char text[9];
    std::snprintf(text, sizeof(text), "S%07x", static_cast<unsigned>(sector));
    for (size_t at = 0; at < kSectorBytes; at += 8) {
      std::memcpy(&bytes[sector * kSectorBytes + at], text, 8);
    }
  }
  return bytes;
}

std::shared_ptr<BlkDevice> MakeDisk() {
  auto store = *MakeMemoryStore({.size_bytes = kSectors * kSectorBytes});
  const Bytes bytes = DiskBytes();
  const ConstBuffer piece(bytes.data(), bytes.size());
  StoreOperation write;
  write.verb = StoreVerb::kWrite;
  write.length_bytes = bytes.size();
  write.source = BufferReader(std::span(&piece, 1));
  StoreOperation* const batch[] = {&write};
  (*store->OpenQueue())->Submit(batch);
  EXPECT_EQ(write.status, StoreStatus::kOk);
  BlkOptions options;
  options.serial = "vtgt-000001";
  options.num_queues = 1;
  options.max_queue_size = 1024;
  return *MakeBlkDevice(options, store);
}

// Whether two answers to `command` agree in all that the protocol fixes.
bool SameAnswer(const Command& command, std::span<const std::byte> ours,
                std::span<const std::byte> recorded) {
  if (ours.size() != recorded.size()) return false;
  const bool free_value = command.kind == CommandKind::kGetVendorId ||
                          command.kind == CommandKind::kGetDeviceFeature ||
                          command.kind == CommandKind::kGetGeneration ||
                          (command.kind == CommandKind::kGetConfig &&
                           (command.offset == kSizeMaxOffset || command.offset == kSegMaxOffset));
  const size_t compared = free_value ? kValueOffset : ours.size();
  return std::equal(ours.begin(), ours.begin() + static_cast<ptrdiff_t>(compared),
                    recorded.begin());
}

Command CommandOf(const RecordedPdu& pdu) {
  Command command;
  EXPECT_EQ(Ref::DecodeCommand(HeaderOfPdu(pdu), command), WireError::kNone);
  return command;
}

std::vector<RecordedPdu> Load(const char* file) {
  absl::StatusOr<Recording> recording = LoadRecording(file);
  EXPECT_TRUE(recording.ok()) << recording.status();
  return recording.ok() ? recording->pdus : std::vector<RecordedPdu>();
}

Bytes SentBytes(const std::vector<RecordedPdu>& pdus) {
  Bytes bytes;
  for (const RecordedPdu& pdu : pdus) {
    if (pdu.direction != Direction::kToTarget) continue;
    bytes.insert(bytes.end(), pdu.bytes.begin(), pdu.bytes.end());
  }
  return bytes;
}

// Fails unless `answers` are the recorded ones, one behind the other.
void ExpectAnswers(const std::vector<RecordedPdu>& pdus, std::span<const std::byte> answers,
                   const std::string& how) {
  Command command;
  for (const RecordedPdu& pdu : pdus) {
    if (pdu.direction == Direction::kToTarget) {
      command = CommandOf(pdu);
      continue;
    }
    const std::span<const std::byte> ours = answers.first(std::min(answers.size(), pdu.size_bytes));
    ASSERT_TRUE(SameAnswer(command, ours, pdu.bytes))
        << how << ": the answer in PDU " << pdu.number << " to " << CommandKindName(command.kind)
        << " differs";
    answers = answers.subspan(ours.size());
  }
  EXPECT_TRUE(answers.empty()) << how << ": " << answers.size() << " bytes too many";
}

// A target of its own, so that instance ids begin with 0 as recorded.
class Target {
 public:
  explicit Target(std::shared_ptr<BlkDevice> device) : pool_(kMinPoolBytes) {
    EXPECT_TRUE(directory_.AddDevice(kDisk, std::move(device)).ok());
  }
  std::unique_ptr<RawPeer> NewPeer() {
    return std::make_unique<RawPeer>(EngineHost{&executor_, &pool_}, &directory_, &executor_, &now_,
                                     "192.0.2.1");
  }

 private:
  ManualExecutor executor_;
  BufferPool pool_;
  MonotonicTime now_ = kNanosecondsPerSecond;
  TargetDirectory directory_;
};

class TargetReplay : public testing::Test {
 protected:
  static void SetUpTestSuite() { disk_ = new std::shared_ptr<BlkDevice>(MakeDisk()); }
  static void TearDownTestSuite() {
    delete disk_;
    disk_ = nullptr;
  }

  // Sends what the initiator sent, each message when the one before is answered (it uses one
  // command id again and again), the one at `split` in two parts, and compares what comes back.
  static void Replay(RawPeer& peer, const std::vector<RecordedPdu>& pdus, size_t split) {
    size_t at = 0;
    for (const RecordedPdu& pdu : pdus) {
      if (pdu.direction != Direction::kToTarget) continue;
      const std::span<const std::byte> message(pdu.bytes);
      const bool is_cut = split > at && split < at + message.size();
      const size_t first = is_cut ? split - at : message.size();
      peer.Send(message.first(first));
      peer.Send(message.subspan(first));
      peer.Run();
      at += message.size();
    }
    ExpectAnswers(pdus, peer.received(), "split at " + std::to_string(split));
  }
  static void ExpectControl(const char* file, size_t step, size_t chunk_bytes = 0) {
    const std::vector<RecordedPdu> pdus = Load(file);
    const Bytes bytes = SentBytes(pdus);
    for (size_t split = 0; split <= bytes.size() && !HasFatalFailure(); split += step) {
      Target target(*disk_);
      const auto peer = target.NewPeer();
      peer->chunk_bytes = chunk_bytes;
      Replay(*peer, pdus, split);
    }
  }
  // The virtqueue, with the control queue of the same session as it was then.
  static void ReplayVirtqueue(const std::vector<RecordedPdu>& pdus, size_t split,
                              size_t chunk_bytes, size_t scratch_bytes) {
    Target target(*disk_);
    const auto control = target.NewPeer();
    std::vector<RecordedPdu> opening = Load("ref_linux_tcp_control.txt");
    while (!opening.empty()) {  // the last reset belongs to the end of the session
      const RecordedPdu last = opening.back();
      opening.pop_back();
      if (last.direction == Direction::kToTarget) break;
    }
    control->Send(SentBytes(opening));
    const auto queue = target.NewPeer();
    queue->chunk_bytes = chunk_bytes;
    queue->scratch_bytes = scratch_bytes;
    Replay(*queue, pdus, split);
  }

 private:
  static std::shared_ptr<BlkDevice>* disk_;
};
std::shared_ptr<BlkDevice>* TargetReplay::disk_ = nullptr;

TEST_F(TargetReplay, LinuxControlQueueInEverySplit) {
  ExpectControl("ref_linux_tcp_control.txt", /*step=*/1);
}

TEST_F(TargetReplay, UserSpaceControlQueueInEverySplit) {
  ExpectControl("ref_userspace_tcp_control.txt", /*step=*/1);
}

TEST_F(TargetReplay, ControlQueuesByteByByte) {
  ExpectControl("ref_linux_tcp_control.txt", /*step=*/700, /*chunk_bytes=*/1);
  ExpectControl("ref_userspace_tcp_control.txt", /*step=*/700, /*chunk_bytes=*/1);
}

// Every split of the Connect's end, the headers, descriptors and status bytes; some of the
// payloads.
TEST_F(TargetReplay, LinuxVirtqueueInManySplits) {
  const std::vector<RecordedPdu> pdus = Load("ref_linux_tcp_virtqueue.txt");
  const Bytes bytes = SentBytes(pdus);
  std::vector<bool> is_header(bytes.size() + 1, false);
  size_t at = 0;
  for (const RecordedPdu& pdu : pdus) {
    if (pdu.direction != Direction::kToTarget) continue;
    for (size_t i = 0; i < std::min<size_t>(pdu.size_bytes, 130); ++i) is_header[at + i] = true;
    at += pdu.size_bytes;
  }
  for (size_t split = 0; split <= bytes.size() && !HasFatalFailure(); ++split) {
    if (is_header[split] || split % 97 == 0) ReplayVirtqueue(pdus, split, 0, 256u << 10);
  }
}

TEST_F(TargetReplay, LinuxVirtqueueInSmallPieces) {
  const std::vector<RecordedPdu> pdus = Load("ref_linux_tcp_virtqueue.txt");
  const Bytes bytes = SentBytes(pdus);
  for (size_t piece : {size_t{1}, size_t{7}, size_t{1000}}) {
    ReplayVirtqueue(pdus, bytes.size() / 2, piece, 256u << 10);
    ReplayVirtqueue(pdus, 0, piece, 512);
  }
}

}  // namespace
}  // namespace vof
