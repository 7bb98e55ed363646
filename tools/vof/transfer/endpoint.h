// SPDX-License-Identifier: Apache-2.0
//
// Something with a size that is read and written at offsets: a file, a block device, a device
// behind a URI.
//
//   std::unique_ptr<Endpoint> disk = ...;
//   absl::StatusOr<Extent> extent = disk->ExtentAt(0);         // data or hole, and how far
//   absl::Status read = disk->Read(0, buffer);
//
// Calls block and may come from many threads at once, which is how many requests are kept in
// flight. Errors name the endpoint and the offset; they are final, every retry that makes sense was
// made.
#ifndef VOF_TOOLS_VOF_TRANSFER_ENDPOINT_H_
#define VOF_TOOLS_VOF_TRANSFER_ENDPOINT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vof {

// A stretch of an endpoint from where it was asked for.
struct Extent {
  uint64_t end_bytes = 0;  // behind the offset it was asked for
  bool is_hole = false;    // known to read as zeros
};

class Endpoint {
 public:
  virtual ~Endpoint() = default;

  // As the user wrote it.
  virtual const std::string& name() const = 0;
  virtual uint64_t size_bytes() const = 0;
  // What offsets and sizes of Write and Zero are multiples of; a power of two. Read takes any.
  virtual uint32_t block_bytes() const = 0;
  // The shortest run of zeros for which Zero is cheaper than Write.
  virtual uint32_t zero_run_bytes() const = 0;

  // Of a device that tells which store its bytes are in: equal numbers are one store. 0: not known.
  virtual uint64_t store_epoch() const { return 0; }

  // `offset_bytes` < size_bytes().
  virtual absl::StatusOr<Extent> ExtentAt(uint64_t offset_bytes) = 0;
  // The whole of `buffer`, or an error.
  virtual absl::Status Read(uint64_t offset_bytes, std::span<std::byte> buffer) = 0;
  virtual absl::Status Write(uint64_t offset_bytes, std::span<const std::byte> data) = 0;
  // Makes the range read as zeros, without storing them where that is possible.
  virtual absl::Status Zero(uint64_t offset_bytes, uint64_t size_bytes) = 0;
  // What was written is durable when this returns.
  virtual absl::Status Flush() = 0;
  // After a failure, instead of Flush: cuts what was made for this work to its first `size_bytes`,
  // so that nobody takes it for complete. False: nothing was cut, as with what was there before.
  virtual bool CutTo(uint64_t /*size_bytes*/) { return false; }
};

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TRANSFER_ENDPOINT_H_
