// SPDX-License-Identifier: Apache-2.0
//
// Which region covers a piece of memory: asked for each buffer of each keyed request.
//
//   RegionMap map(&regions_of_the_pool);
//   map.Add(std::move(arena_region));
//   const Region* region = map.Find(buffer.data, buffer.size_bytes);   // null: register or copy
//
// One thread, and that of the map that it extends. Regions of one map may not overlap. A piece that
// crosses the border of two regions is covered by none.
#ifndef VOF_CORE_TRANSPORT_REGION_MAP_H_
#define VOF_CORE_TRANSPORT_REGION_MAP_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "core/transport/domain.h"

namespace vof {

class RegionMap {
 public:
  RegionMap() = default;
  // What it does not cover itself is looked up in `base`, which outlives it.
  explicit RegionMap(const RegionMap* base) : base_(base) {}

  // False when it overlaps one that is there; the region ends then. Pointers returned by Find stay
  // valid until their region is removed.
  bool Add(Region region) {
    if (region.bytes().size_bytes == 0) return false;
    const std::byte* begin = region.bytes().data;
    const std::byte* end = begin + region.bytes().size_bytes;
    const auto next = After(begin);
    if (next != regions_.end() && std::less<>{}((*next)->bytes().data, end)) return false;
    if (next != regions_.begin()) {
      const MutableBuffer before = (*std::prev(next))->bytes();
      if (std::less<>{}(begin, before.data + before.size_bytes)) return false;
    }
    regions_.insert(next, std::make_unique<Region>(std::move(region)));
    return true;
  }

  // The region that begins at `begin`, empty when there is none (not of the base): it covers
  // nothing here any more, and its keys end with what is returned.
  Region Take(const std::byte* begin) {
    const auto next = After(begin);
    if (next == regions_.begin() || (*std::prev(next))->bytes().data != begin) return {};
    last_ = nullptr;
    Region taken = std::move(**std::prev(next));
    regions_.erase(std::prev(next));
    return taken;
  }
  // Ends all regions but those of the base.
  void Clear() {
    last_ = nullptr;
    regions_.clear();
  }

  const Region* Find(const std::byte* place, size_t size_bytes) const {
    if (last_ != nullptr && last_->Covers(place, size_bytes)) [[likely]]
      return last_;
    const auto next = After(place);
    if (next != regions_.begin() && (*std::prev(next))->Covers(place, size_bytes)) {
      last_ = std::prev(next)->get();
      return last_;
    }
    return base_ != nullptr ? base_->Find(place, size_bytes) : nullptr;
  }

  size_t size() const { return regions_.size(); }  // without the base

 private:
  using Regions = std::vector<std::unique_ptr<Region>>;

  // The first region that begins after `place`.
  Regions::const_iterator After(const std::byte* place) const {
    return std::upper_bound(regions_.begin(), regions_.end(), place,
                            [](const std::byte* at, const std::unique_ptr<Region>& region) {
                              return std::less<>{}(at, region->bytes().data);
                            });
  }

  const RegionMap* base_ = nullptr;
  Regions regions_;  // by address
  mutable const Region* last_ = nullptr;
};

}  // namespace vof

#endif  // VOF_CORE_TRANSPORT_REGION_MAP_H_
