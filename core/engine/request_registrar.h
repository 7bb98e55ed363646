// SPDX-License-Identifier: Apache-2.0
//
// Registers large pieces of one keyed request for this request alone, so that they need not be
// copied although their memory is not registered for the session.
//
//   RequestRegistrar registrar(domain, {.from_bytes = 64 << 10});
//   std::unique_ptr<RequestRegions> own = registrar.Cover(request, limits, session_regions);
//   ... the target works with own->out and own->in ...
//   own.reset();                                  // the answer is here: the keys are refused now
//
// Why nothing is kept for the next request: a key that the target has seen would let it reach
// memory which is no longer shown to it, and the caller may free a request's buffers after `done`,
// which nobody here would notice. A new key for pages that stay pinned would be sound, but no
// fabric offers it through Domain. What is used again and again is registered by its owner, for the
// session (DeviceClient::RegisterMemory). What is bounded is what is registered at a time.
//
// It is off unless asked for. Whether it pays is a question to the fabric: an adapter takes tens of
// microseconds to pin memory, the time in which a megabyte is copied; fabrics in software take a
// tenth of one. And where a store that has begun goes on after its key has ended (docs/fabrics.md),
// a target could reach memory that the caller has freed, which it cannot in a pool. One thread, the
// queue's.
#ifndef VOF_CORE_ENGINE_REQUEST_REGISTRAR_H_
#define VOF_CORE_ENGINE_REQUEST_REGISTRAR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/base/buffer.h"
#include "core/engine/initiator_request.h"
#include "core/engine/keyed_request_builder.h"
#include "core/transport/domain.h"
#include "core/transport/region_map.h"

namespace vof {

struct RequestRegistration {
  size_t from_bytes = 0;                  // of a piece; smaller ones are copied. 0: all are
  size_t most_bytes = size_t{256} << 20;  // registered at a time, by one queue
};

// The regions of one request, extending those of its session. What is readable can only be read by
// the target, what is writable only be written.
class RequestRegions {
 public:
  RequestRegions(const RegionMap* base, std::shared_ptr<size_t> total_bytes)
      : out(base), in(base), total_bytes_(std::move(total_bytes)) {}
  ~RequestRegions() { *total_bytes_ -= own_bytes_; }
  RequestRegions(const RequestRegions&) = delete;
  RequestRegions& operator=(const RequestRegions&) = delete;

  void Add(Region region, bool readable) {
    const size_t size_bytes = region.bytes().size_bytes;
    if (!(readable ? out : in).Add(std::move(region)))
      return;  // pieces overlap: that one is copied
    own_bytes_ += size_bytes;
    *total_bytes_ += size_bytes;
  }

  RegionMap out, in;

 private:
  const std::shared_ptr<size_t> total_bytes_;
  size_t own_bytes_ = 0;
};

class RequestRegistrar {
 public:
  // `domain` outlives it; null: registers nothing.
  RequestRegistrar(Domain* domain, const RequestRegistration& options)
      : domain_(domain), options_(options) {}

  bool enabled() const { return domain_ != nullptr && options_.from_bytes > 0; }
  size_t registered_bytes() const { return *total_bytes_; }

  // Null when nothing was registered. What could not be is copied, like what is small.
  std::unique_ptr<RequestRegions> Cover(const InitiatorRequest& request, const KeyedLimits& limits,
                                        const RegionMap& session) {
    if (!enabled() || request.readable_bytes + request.writable_bytes < options_.from_bytes) {
      return nullptr;
    }
    std::unique_ptr<RequestRegions> own;
    const auto cover = [&](const std::byte* data, uint32_t size_bytes, bool readable) {
      if (size_bytes < options_.from_bytes || session.Find(data, size_bytes) != nullptr) return;
      if (size_bytes > options_.most_bytes - *total_bytes_) return;
      // Only read from: domains take one type for both directions.
      const MutableBuffer bytes(const_cast<std::byte*>(data), size_bytes);
      absl::StatusOr<Region> region =
          domain_->Register(bytes, readable ? Access::kRemoteRead : Access::kRemoteWrite);
      if (!region.ok()) return;
      if (own == nullptr) own = std::make_unique<RequestRegions>(&session, total_bytes_);
      own->Add(*std::move(region), readable);
    };
    keyed_internal::ForEachPiece(
        request.readable, keyed_internal::InlineBytes(request, limits),
        [&](size_t, const std::byte* data, uint32_t left) { cover(data, left, true); });
    keyed_internal::ForEachPiece(
        request.writable, 0,
        [&](size_t, const std::byte* data, uint32_t left) { cover(data, left, false); });
    return own;
  }

 private:
  Domain* const domain_;
  const RequestRegistration options_;
  // Of all requests in flight; shared with them.
  const std::shared_ptr<size_t> total_bytes_ = std::make_shared<size_t>(0);
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_REQUEST_REGISTRAR_H_
