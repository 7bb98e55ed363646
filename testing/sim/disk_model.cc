// SPDX-License-Identifier: Apache-2.0
#include "testing/sim/disk_model.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace vof {
namespace {

constexpr size_t kSectorBytes = 512;
using SectorBytes = std::array<std::byte, kSectorBytes>;

uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

}  // namespace

void DiskModel::Fill(uint32_t version, uint64_t sector, std::span<std::byte> bytes) {
  if (version == kZeroVersion) {
    std::memset(bytes.data(), 0, kSectorBytes);
    return;
  }
  const uint64_t base = (uint64_t{version} << 32) + (sector << 8);
  for (size_t i = 0; i < kSectorBytes / 8; ++i) {
    const uint64_t word = Mix(base + i + 0x9e3779b97f4a7c15ull);
    std::memcpy(bytes.data() + 8 * i, &word, 8);
  }
}

std::byte DiskModel::NeverFirstIn(uint64_t sector) const {
  std::array<bool, 256> taken = {};
  for (uint32_t version = 0; version <= last_version_; ++version) {
    SectorBytes bytes;
    Fill(version, sector, bytes);
    taken[static_cast<size_t>(bytes[0])] = true;
  }
  const auto* const unused = std::find(taken.begin(), taken.end(), false);
  return static_cast<std::byte>(unused - taken.begin());
}

DiskModel::WriteHandle DiskModel::StartWrite(std::vector<Extent> extents, uint32_t version) {
  auto write = std::make_shared<Write>(Write{version, std::move(extents), ++clock_});
  for (const Extent& extent : write->extents) {
    ShowToReads(extent, version);
    for (uint64_t s = extent.first; s < extent.first + extent.count && s < sectors_.size(); ++s) {
      sectors_[s].in_flight.push_back(version);
    }
  }
  return write;
}

void DiskModel::ShowToReads(const Extent& extent, uint32_t version) {
  for (Read& read : reads_) {
    const uint64_t first = std::max(read.extent.first, extent.first);
    const uint64_t end =
        std::min(read.extent.first + read.extent.count, extent.first + extent.count);
    for (uint64_t s = first; s < end; ++s) {
      read.allowed[s - read.extent.first].push_back(version);
    }
  }
}

void DiskModel::FinishWrite(const WriteHandle& write, WriteOutcome outcome) {
  if (outcome == WriteOutcome::kUnknown) return;
  const uint64_t now = ++clock_;
  for (const Extent& extent : write->extents) {
    for (uint64_t s = extent.first; s < extent.first + extent.count && s < sectors_.size(); ++s) {
      Sector& sector = sectors_[s];
      const auto it = std::find(sector.in_flight.begin(), sector.in_flight.end(), write->version);
      if (it != sector.in_flight.end()) sector.in_flight.erase(it);
      if (outcome == WriteOutcome::kNever) continue;
      if (outcome == WriteOutcome::kDone) {
        // What was settled before this write began is overwritten; the order of others is unknown.
        std::erase_if(sector.settled,
                      [&](const Settled& other) { return other.at < write->started; });
      }
      sector.settled.push_back({write->version, now});
    }
  }
}

void DiskModel::Settle(const WriteHandle& write) { FinishWrite(write, WriteOutcome::kMaybe); }

DiskModel::ReadHandle DiskModel::StartRead(uint64_t first, uint64_t count) {
  Read read;
  read.extent = {first, count};
  read.allowed.resize(count);
  for (uint64_t i = 0; i < count && first + i < sectors_.size(); ++i) {
    const Sector& sector = sectors_[first + i];
    for (const Settled& settled : sector.settled) read.allowed[i].push_back(settled.version);
    for (uint32_t version : sector.in_flight) read.allowed[i].push_back(version);
  }
  reads_.push_back(std::move(read));
  return std::prev(reads_.end());
}

bool DiskModel::Matches(std::span<const std::byte> bytes, uint64_t sector,
                        const std::vector<uint32_t>& allowed) {
  std::vector<SectorBytes> candidates(allowed.size());
  for (size_t i = 0; i < allowed.size(); ++i) {
    Fill(allowed[i], sector, candidates[i]);
    if (std::memcmp(bytes.data(), candidates[i].data(), kSectorBytes) == 0) return true;
  }
  // Torn by a write that was in flight, or that failed half way: every byte from some version.
  for (size_t b = 0; b < kSectorBytes; ++b) {
    const bool known = std::any_of(candidates.begin(), candidates.end(),
                                   [&](const SectorBytes& c) { return c[b] == bytes[b]; });
    if (!known) return false;
  }
  return true;
}

bool DiskModel::FinishRead(ReadHandle read, std::span<const std::byte> data, std::string* error) {
  bool ok = true;
  for (uint64_t i = 0; i < read->extent.count && ok; ++i) {
    const uint64_t sector = read->extent.first + i;
    ok = Matches(data.subspan(i * kSectorBytes, kSectorBytes), sector, read->allowed[i]);
    if (ok) continue;
    *error = "sector " + std::to_string(sector) + " (number " + std::to_string(i) +
             " of the read) holds none of the versions";
    for (uint32_t version : read->allowed[i]) *error += " " + std::to_string(version);
    SectorBytes bytes;
    for (uint32_t version = 0; version <= last_version_; ++version) {
      Fill(version, sector, bytes);
      if (std::memcmp(bytes.data(), data.data() + i * kSectorBytes, kSectorBytes) == 0) {
        *error += "; it holds version " + std::to_string(version);
      }
    }
  }
  reads_.erase(read);
  return ok;
}

void DiskModel::Cut(uint64_t first) {
  if (first >= sectors_.size()) return;
  ShowToReads({first, sectors_.size() - first}, kZeroVersion);
  const uint64_t now = ++clock_;
  for (uint64_t s = first; s < sectors_.size(); ++s) sectors_[s].settled = {{kZeroVersion, now}};
}

}  // namespace vof
