// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/testing/driver_double.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "gtest/gtest.h"

namespace vof {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr std::byte kUnwritten{0xa5};

// One piece of a request, `offset_bytes` behind a page boundary.
struct AlignedPiece {
  AlignedPiece(size_t offset_bytes, size_t size_bytes)
      : memory(static_cast<std::byte*>(
                   std::aligned_alloc(kPageBytes, RoundUp(offset_bytes + size_bytes))),
               &std::free),
        data(memory.get() + offset_bytes) {}
  static size_t RoundUp(size_t n) { return (n / kPageBytes + 1) * kPageBytes; }

  std::unique_ptr<std::byte, decltype(&std::free)> memory;
  std::byte* data;
};

}  // namespace

struct BlkDriverDouble::Pending {
  int id = 0;
  DeviceRequest request;
  Bytes readable_bytes;
  std::vector<AlignedPiece> aligned;  // BlkCuts::kAligned
  std::vector<std::unique_ptr<std::byte[]>>
      pieces;  // BlkCuts::kRandom: exactly as long as the piece
  std::vector<ConstBuffer> readable;
  std::vector<MutableBuffer> writable;
  BlkAnswer answer;
};

Bytes BlkRequestBytes(uint32_t type, uint64_t sector, std::span<const std::byte> data) {
  BlkRequestHeader header;
  header.type = type;
  header.sector = sector;
  Bytes bytes(sizeof(header) + data.size());
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::copy(data.begin(), data.end(), bytes.begin() + sizeof(header));
  return bytes;
}

Bytes BlkReadRequest(uint64_t sector) { return BlkRequestBytes(kBlkTypeIn, sector); }

Bytes BlkWriteRequest(uint64_t sector, std::span<const std::byte> data) {
  return BlkRequestBytes(kBlkTypeOut, sector, data);
}

Bytes BlkSegmentsRequest(uint32_t type, std::initializer_list<TestSegment> segments) {
  return BlkSegmentsRequest(type, std::span<const TestSegment>(segments.begin(), segments.size()));
}

Bytes BlkSegmentsRequest(uint32_t type, std::span<const TestSegment> segments) {
  Bytes list(segments.size() * sizeof(BlkDiscardSegment));
  std::byte* to = list.data();
  for (const TestSegment& s : segments) {
    BlkDiscardSegment segment;
    segment.sector = s.sector;
    segment.num_sectors = s.num_sectors;
    segment.flags = s.flags;
    std::memcpy(to, &segment, sizeof(segment));
    to += sizeof(segment);
  }
  return BlkRequestBytes(type, 0, list);
}

Bytes PatternBytes(size_t size_bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(size_bytes);
  for (size_t i = 0; i < size_bytes; i += sizeof(uint64_t)) {
    const uint64_t word = random();
    std::memcpy(bytes.data() + i, &word, std::min(sizeof(word), size_bytes - i));
  }
  return bytes;
}

uint8_t BlkAnswer::status() const {
  return bytes.empty() ? 0xff : std::to_integer<uint8_t>(bytes.back());
}

std::span<const std::byte> BlkAnswer::data() const {
  return std::span<const std::byte>(bytes).first(bytes.empty() ? 0 : bytes.size() - 1);
}

BlkDriverDouble::BlkDriverDouble(DeviceQueue* queue, BlkCuts cuts, uint32_t seed)
    : queue_(queue), traits_(queue->traits()), cuts_(cuts), random_(seed) {}

BlkDriverDouble::~BlkDriverDouble() = default;

std::vector<size_t> BlkDriverDouble::CutSizes(size_t size_bytes) {
  if (cuts_ == BlkCuts::kAligned) return {size_bytes};
  std::vector<size_t> sizes;
  while (size_bytes > 0) {
    // Mostly small pieces and now and then the rest, so that every place is cut sometimes.
    const size_t most = random_() % 8 == 0 ? size_bytes : std::min<size_t>(size_bytes, 700);
    const size_t size = random_() % (most + 1);
    sizes.push_back(size);
    size_bytes -= size;
  }
  return sizes;
}

BlkDriverDouble::Pending* BlkDriverDouble::Make(Bytes readable, uint32_t writable_bytes) {
  auto owned = std::make_unique<Pending>();
  Pending* pending = owned.get();
  pending->id = next_id_++;
  pending->request.Reset(this);
  const auto place = [&](size_t offset, size_t size) -> std::byte* {
    if (cuts_ == BlkCuts::kAligned) return pending->aligned.emplace_back(offset, size).data;
    return pending->pieces.emplace_back(new std::byte[size]).get();
  };
  size_t at = 0;
  for (const size_t size : CutSizes(readable.size())) {
    std::byte* data = place(kPageBytes - traits_.readable_header_bytes, size);
    if (size > 0) std::memcpy(data, readable.data() + at, size);
    at += size;
    pending->readable.emplace_back(data, size);
  }
  if (!traits_.lends_results) {
    for (const size_t size : CutSizes(writable_bytes)) {
      std::byte* data = place(0, size);
      std::fill_n(data, size, kUnwritten);
      pending->writable.emplace_back(data, size);
    }
  }
  pending->readable_bytes = std::move(readable);
  pending->request.readable = pending->readable;
  pending->request.readable_bytes = static_cast<uint32_t>(pending->readable_bytes.size());
  pending->request.writable = pending->writable;
  pending->request.writable_bytes = writable_bytes;
  pending_[pending->id] = std::move(owned);
  return pending;
}

std::vector<int> BlkDriverDouble::Start(std::span<const std::pair<Bytes, uint32_t>> requests) {
  std::vector<int> ids;
  std::vector<DeviceRequest*> batch;
  for (const auto& [readable, writable_bytes] : requests) {
    Pending* pending = Make(readable, writable_bytes);
    ids.push_back(pending->id);
    batch.push_back(&pending->request);
  }
  outstanding_ += batch.size();
  queue_->Submit(batch);
  if (traits_.completes_inline) {
    // Readable bytes may be gone now: an engine reuses its receive buffer.
    for (const int id : ids) pending_[id]->pieces.clear();
  }
  return ids;
}

bool BlkDriverDouble::IsDone(int id) {
  queue_->Poll();
  return pending_.at(id)->answer.completed;
}

BlkAnswer BlkDriverDouble::Wait(int id) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!IsDone(id)) {
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << "request " << id << " was not completed within 30 s";
      return {};
    }
    std::this_thread::yield();
  }
  BlkAnswer answer = std::move(pending_.at(id)->answer);
  pending_.erase(id);
  return answer;
}

BlkAnswer BlkDriverDouble::Run(Bytes readable, uint32_t writable_bytes) {
  const std::pair<Bytes, uint32_t> request(std::move(readable), writable_bytes);
  return Wait(Start({&request, 1}).front());
}

void BlkDriverDouble::OnComplete(DeviceRequest* request) {
  for (auto& [id, pending] : pending_) {
    if (&pending->request != request) continue;
    BlkAnswer& answer = pending->answer;
    EXPECT_FALSE(answer.completed) << "request " << id << " was completed twice";
    --outstanding_;
    answer.completed = true;
    answer.failed = request->failed();
    EXPECT_LE(request->used_length(), request->writable_bytes);
    if (traits_.lends_results) {
      for (const ConstBuffer& piece : request->result()) {
        answer.bytes.insert(answer.bytes.end(), piece.data, piece.data + piece.size_bytes);
      }
      EXPECT_TRUE(answer.failed || request->used_length() == answer.bytes.size());
    } else {
      for (const MutableBuffer& piece : pending->writable) {
        answer.bytes.insert(answer.bytes.end(), piece.data, piece.data + piece.size_bytes);
      }
      answer.bytes.resize(request->used_length());
    }
    return;
  }
  ADD_FAILURE() << "a request was completed that was never submitted";
}

}  // namespace vof
