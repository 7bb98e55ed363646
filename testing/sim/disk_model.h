// SPDX-License-Identifier: Apache-2.0
//
// What a disk may hold after what was asked of it: the checker of contents.
//
//   DiskModel model(/*sectors=*/256);
//   auto write = model.StartWrite({{first, count}}, model.NewVersion());
//   ... the device answers ...
//   model.FinishWrite(write, WriteOutcome::kDone);
//   auto read = model.StartRead(first, count);
//   if (!model.FinishRead(read, data, &error)) ...   // neither old nor new: `error` says where
//
// Every write has a version of its own, from which each of its bytes follows. A sector has a set of
// versions that it may hold; more than one while writes are in flight, after one that failed, or
// after two whose order nobody knows. A write whose answer was lost may land until its session is
// known to be gone (kUnknown, then Settle).
#ifndef VOF_TESTING_SIM_DISK_MODEL_H_
#define VOF_TESTING_SIM_DISK_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace vof {

inline constexpr uint32_t kZeroVersion = 0;  // a discard or write-zeroes

struct Extent {
  uint64_t first = 0;  // sector
  uint64_t count = 0;
};

enum class WriteOutcome : uint8_t {
  kDone,     // acknowledged
  kMaybe,    // failed at the device: any part may have been written
  kNever,    // refused or not sent: no byte of it may ever be seen
  kUnknown,  // the answer was lost: it may still be under way
};

class DiskModel {
 public:
  struct Write {
    uint32_t version = 0;
    std::vector<Extent> extents;
    uint64_t started = 0;
  };
  struct Read {
    Extent extent;
    std::vector<std::vector<uint32_t>> allowed;  // of each sector
  };
  using WriteHandle = std::shared_ptr<Write>;
  using ReadHandle = std::list<Read>::iterator;

  explicit DiskModel(uint64_t sectors) : sectors_(sectors) {}

  uint32_t NewVersion() { return ++last_version_; }
  // The 512 bytes that `version` puts into `sector`.
  static void Fill(uint32_t version, uint64_t sector, std::span<std::byte> bytes);

  // A value that no version so far has as the first byte of `sector`. Of 256 values there is one
  // as long as there are not several times as many versions; otherwise any.
  std::byte NeverFirstIn(uint64_t sector) const;

  WriteHandle StartWrite(std::vector<Extent> extents, uint32_t version);
  void FinishWrite(const WriteHandle& write, WriteOutcome outcome);
  // A kUnknown write cannot land any more.
  void Settle(const WriteHandle& write);

  ReadHandle StartRead(uint64_t first, uint64_t count);
  // `data` holds the sectors. False: some byte belongs to no version that may be there.
  bool FinishRead(ReadHandle read, std::span<const std::byte> data, std::string* error);
  void ForgetRead(ReadHandle read) { reads_.erase(read); }

  // Sectors from `first` on are lost; they read as zeros when they are there again.
  void Cut(uint64_t first);

 private:
  struct Settled {
    uint32_t version = kZeroVersion;
    uint64_t at = 0;
  };
  struct Sector {
    std::vector<Settled> settled{{kZeroVersion, 0}};
    std::vector<uint32_t> in_flight;
  };

  void ShowToReads(const Extent& extent, uint32_t version);
  static bool Matches(std::span<const std::byte> bytes, uint64_t sector,
                      const std::vector<uint32_t>& allowed);

  std::vector<Sector> sectors_;
  std::list<Read> reads_;
  uint32_t last_version_ = 0;
  uint64_t clock_ = 0;
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_DISK_MODEL_H_
