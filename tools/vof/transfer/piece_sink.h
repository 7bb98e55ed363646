// SPDX-License-Identifier: Apache-2.0
//
// Where a transfer puts its pieces.
//
//   EndpointSink sink(endpoint, {.offset_bytes = 0, .size_bytes = n});    // or PipeSink
//   absl::Status put = sink.Put(piece, data);        // many threads at once, pieces in any order
//   absl::Status done = sink.Finish();               // when all are there: what was put is durable
#ifndef VOF_TOOLS_VOF_TRANSFER_PIECE_SINK_H_
#define VOF_TOOLS_VOF_TRANSFER_PIECE_SINK_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "tools/vof/transfer/endpoint.h"
#include "tools/vof/transfer/piece_plan.h"
#include "tools/vof/transfer/piece_source.h"

namespace vof {

class PieceSink {
 public:
  virtual ~PieceSink() = default;
  // `data` holds the piece; it is empty for a hole.
  virtual absl::Status Put(const Piece& piece, std::span<const std::byte> data) = 0;
  virtual absl::Status Finish() = 0;
  // Makes calls that wait return with an error soon; any thread.
  virtual void Stop() = 0;
  // Of Put's bytes, those that were not stored because they are zeros.
  virtual uint64_t zero_bytes() const = 0;
  // A Put waits for somebody who reads what it writes; any thread.
  virtual bool waits_for_reader() const { return false; }
  // Something may have been written, even if every Put failed.
  virtual bool touched() const = 0;
};

// Data that end within a block of an endpoint, with `size_bytes` in all: kInvalidArgument.
absl::Status PartOfABlockError(uint64_t size_bytes, const Endpoint& endpoint);

// What becomes of data that ends within a block.
enum class LastBlock : uint8_t { kPad, kRefuse };

// A range of an endpoint. Zeros are turned into holes there; with kPad a partial last block is
// filled with zeros.
class EndpointSink final : public PieceSink {
 public:
  // A piece beyond `room` is kOutOfRange (the size of a pipe is not known before).
  EndpointSink(Endpoint* endpoint, const ByteRange& room, LastBlock last_block = LastBlock::kPad)
      : endpoint_(endpoint), room_(room), last_block_(last_block) {}

  absl::Status Put(const Piece& piece, std::span<const std::byte> data) override;
  absl::Status Finish() override { return endpoint_->Flush(); }
  void Stop() override {}
  uint64_t zero_bytes() const override { return zero_bytes_; }
  bool touched() const override { return touched_; }

 private:
  absl::Status PutRun(uint64_t offset_bytes, std::span<const std::byte> data);
  absl::Status PutZeros(uint64_t offset_bytes, uint64_t size_bytes);
  uint64_t RoundUp(uint64_t size_bytes) const {
    const uint64_t block = endpoint_->block_bytes();
    return (size_bytes + block - 1) / block * block;
  }

  Endpoint* const endpoint_;
  const ByteRange room_;
  const LastBlock last_block_;
  std::atomic<uint64_t> zero_bytes_ = 0;
  std::atomic<bool> touched_ = false;
};

// A descriptor that can only be written in order: each piece waits for its turn. It stays the
// caller's. A reader that went away is kCancelled.
class PipeSink final : public PieceSink {
 public:
  PipeSink(std::string name, int fd) : name_(std::move(name)), fd_(fd) {}

  absl::Status Put(const Piece& piece, std::span<const std::byte> data) override;
  absl::Status Finish() override { return absl::OkStatus(); }
  // What waits for its turn; a write that nobody reads goes on waiting.
  void Stop() override;
  uint64_t zero_bytes() const override { return 0; }
  bool waits_for_reader() const override { return writing_; }
  bool touched() const override { return touched_; }

 private:
  absl::Status WriteAll(std::span<const std::byte> data);
  absl::Status WriteZeros(uint64_t size_bytes);

  const std::string name_;
  const int fd_;

  std::mutex mutex_;
  std::condition_variable turn_;
  uint64_t next_sequence_ = 0;
  bool stopped_ = false;
  std::atomic<bool> writing_ = false;
  std::atomic<bool> touched_ = false;
};

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TRANSFER_PIECE_SINK_H_
