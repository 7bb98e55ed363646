// SPDX-License-Identifier: Apache-2.0
//
// A domain of libfabric: registration of memory with it.
//
//   absl::StatusOr<std::shared_ptr<OfiDomain>> domain = OfiDomain::Open(*info);
//   absl::StatusOr<Region> region = (*domain)->Register(arena, Access::kRemoteRead);
//
// Keys that the provider does not make are random 32-bit numbers. A provider whose own keys are
// longer cannot be used: descriptors on the wire have 32 bits for them. Where the provider
// registers nothing at all (a software one), there is no limit.
#ifndef VOF_BACKENDS_OFI_OFI_DOMAIN_H_
#define VOF_BACKENDS_OFI_OFI_DOMAIN_H_

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/common/file_descriptor.h"
#include "backends/ofi/ofi_handle.h"
#include "backends/ofi/ofi_options.h"
#include "core/base/buffer.h"
#include "core/base/time.h"
#include "core/transport/domain.h"

namespace vof {

// What Region::local_key() points to.
class OfiRegistration {
 public:
  OfiRegistration(std::shared_ptr<fid_domain> domain, FidPtr<fid_mr> mr, MutableBuffer bytes)
      : domain_(std::move(domain)), mr_(std::move(mr)), bytes_(bytes) {}

  bool Covers(const std::byte* place, size_t size_bytes) const {
    return place >= bytes_.data && size_bytes <= bytes_.size_bytes &&
           static_cast<size_t>(place - bytes_.data) <= bytes_.size_bytes - size_bytes;
  }
  void* descriptor() const { return fi_mr_desc(mr_.get()); }

 private:
  const std::shared_ptr<fid_domain> domain_;  // outlives mr_
  const FidPtr<fid_mr> mr_;
  const MutableBuffer bytes_;
};

class OfiReceives;

class OfiDomain final : public Domain {
 public:
  // Those that channels of the domain use together, while there are any (ofi_receives.h).
  struct SharedReceives {
    std::mutex mutex;
    std::weak_ptr<OfiReceives> receives;
  };

  static absl::StatusOr<std::shared_ptr<OfiDomain>> Open(const fi_info& info,
                                                         const OfiOptions& options = {});

  absl::StatusOr<Region> Register(MutableBuffer bytes, Access access) override;

  // Keeps what is left of a channel until its side connection ends, or the time comes, or the
  // domain ends; looks when another one comes. Any thread.
  void Bury(std::shared_ptr<void> remains, FileDescriptor side, MonotonicTime until);

  fid_fabric* fabric() const { return fabric_.get(); }
  fid_domain* domain() const { return domain_.get(); }
  const OfiOptions& options() const { return options_; }
  SharedReceives& shared_receives() { return shared_receives_; }

 private:
  OfiDomain(const fi_info& info, const OfiOptions& options, std::shared_ptr<fid_fabric> fabric,
            std::shared_ptr<fid_domain> domain);

  const OfiOptions options_;
  const std::string provider_;
  const int memory_mode_;
  const std::shared_ptr<fid_fabric> fabric_;
  // Shared with regions, so that ending in the wrong order stays harmless; holds the fabric.
  const std::shared_ptr<fid_domain> domain_;

  struct Grave {
    std::shared_ptr<void> remains;
    FileDescriptor side;
    MonotonicTime until = 0;
  };
  std::mutex graves_mutex_;
  std::vector<Grave> graves_;  // end before domain_
  SharedReceives shared_receives_;
};

// The domains of a backend: one for each that libfabric names, while somebody uses it. A provider
// whose domains wear out gets a new one in time.
class OfiDomains {
 public:
  explicit OfiDomains(const OfiOptions& options = {}) : options_(options) {}

  // For one endpoint. Any thread.
  absl::StatusOr<std::shared_ptr<OfiDomain>> Get(const fi_info& info);

 private:
  struct Known {
    std::weak_ptr<OfiDomain> domain;
    int endpoints = 0;  // that there were
  };
  const OfiOptions options_;
  std::mutex mutex_;
  std::map<std::string, Known> domains_;  // by provider, fabric and domain
};

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_OFI_DOMAIN_H_
