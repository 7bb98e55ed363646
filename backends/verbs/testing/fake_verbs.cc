// SPDX-License-Identifier: Apache-2.0
#include "backends/verbs/testing/fake_verbs.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/verbs/testing/fake_verbs_types.h"

namespace vof {

FakeVerbs::FakeVerbs() {
  std::strncat(device_.name, "fake0", sizeof(device_.name) - 1);
  context_.device = &device_;
  attributes_.max_mr_size = uint64_t{1} << 40;
  attributes_.max_mr = 1 << 16;
  attributes_.max_qp_wr = 8192;
  attributes_.max_sge = 16;
  attributes_.max_sge_rd = 16;
  attributes_.max_cqe = 1 << 20;
  attributes_.max_qp_rd_atom = 128;
  attributes_.max_qp_init_rd_atom = 128;
  attributes_.max_srq = 16;
  attributes_.max_srq_wr = 1 << 16;
}

FakeVerbs::~FakeVerbs() = default;

void FakeVerbs::FailCall(const std::string& name, int nth, int error) {
  std::lock_guard<std::mutex> lock(mutex_);
  failures_[name][calls_[name] + nth] = error;
}

int FakeVerbs::NumCalls(const std::string& name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = calls_.find(name);
  return found == calls_.end() ? 0 : found->second;
}

void FakeVerbs::Silence(const std::string& address) {
  std::lock_guard<std::mutex> lock(mutex_);
  silent_.insert(address);
}

void FakeVerbs::FailNextWorkRequest(ibv_wc_status status) {
  std::lock_guard<std::mutex> lock(mutex_);
  next_status_ = status;
}

void FakeVerbs::LoseNextEstablished() {
  std::lock_guard<std::mutex> lock(mutex_);
  lose_established_ = true;
}

rdma_conn_param FakeVerbs::last_connect() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return last_connect_;
}

rdma_conn_param FakeVerbs::last_accept() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return last_accept_;
}

uint64_t FakeVerbs::doorbells() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return doorbells_;
}

uint64_t FakeVerbs::completions() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return completions_;
}

std::string FakeVerbs::LiveObjects() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::string text;
  const auto count = [&text](size_t number, std::string_view what) {
    if (number > 0) absl::StrAppend(&text, number, " ", std::string(what), " ");
  };
  count(channels_.size(), "event channels");
  count(ids_.size(), "ids");
  count(domains_.size(), "domains");
  count(regions_.size(), "regions");
  count(notifications_.size(), "completion channels");
  count(queues_.size(), "completion queues");
  count(pairs_.size(), "queue pairs");
  count(shared_.size(), "shared receive queues");
  count(static_cast<size_t>(events_out_), "events not acknowledged");
  return text;
}

std::string FakeVerbs::Misuse() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return absl::StrJoin(misuse_, "; ");
}

int FakeVerbs::Enter(const char* name) {
  const int nth = calls_[name]++;
  const auto named = failures_.find(name);
  if (named == failures_.end()) return 0;
  const auto found = named->second.find(nth);
  return found == named->second.end() ? 0 : found->second;
}

void FakeVerbs::WriteDescriptor(int fd) {
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = write(fd, &one, sizeof(one));
}

bool FakeVerbs::ReadDescriptor(int fd) {
  uint64_t one = 0;
  return read(fd, &one, sizeof(one)) == sizeof(one);
}

// --- Devices and memory ---

int FakeVerbs::QueryDevice(ibv_context*, ibv_device_attr* attributes) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const int error = Enter("QueryDevice"); error != 0) return error;
  *attributes = attributes_;
  return 0;
}

ibv_pd* FakeVerbs::AllocateDomain(ibv_context* context) {
  std::lock_guard<std::mutex> lock(mutex_);
  if ((errno = Enter("AllocateDomain")) != 0) return nullptr;
  auto* domain = new ibv_pd{};
  domain->context = context;
  domains_.insert(domain);
  return domain;
}

int FakeVerbs::FreeDomain(ibv_pd* domain) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [key, region] : regions_) {
    if (region->pd == domain) Blame("a domain ended before a region of it");
  }
  for (const QueuePair* pair : pairs_) {
    if (pair->pd == domain) Blame("a domain ended before a queue pair of it");
  }
  domains_.erase(domain);
  delete domain;
  return 0;
}

ibv_mr* FakeVerbs::RegisterMemory(ibv_pd* domain, void* data, size_t size_bytes, int access) {
  std::lock_guard<std::mutex> lock(mutex_);
  if ((errno = Enter("RegisterMemory")) != 0) return nullptr;
  auto* region = new ibv_mr{};
  region->pd = domain;
  region->addr = data;
  region->length = size_bytes;
  // Steps that no test hits by adding or flipping a few bits.
  next_key_ += 0x1357;
  region->lkey = region->rkey = next_key_;
  regions_[region->rkey] = region;
  access_[region->rkey] = access;
  return region;
}

int FakeVerbs::DeregisterMemory(ibv_mr* region) {
  std::lock_guard<std::mutex> lock(mutex_);
  regions_.erase(region->rkey);
  access_.erase(region->rkey);
  delete region;
  return 0;
}

bool FakeVerbs::CheckLocal(const std::vector<ibv_sge>& segments) const {
  for (const ibv_sge& segment : segments) {
    if (!CheckRemote(segment.lkey, segment.addr, segment.length, IBV_ACCESS_LOCAL_WRITE)) {
      return false;
    }
  }
  return true;
}

bool FakeVerbs::CheckRemote(uint32_t key, uint64_t address, uint64_t size_bytes, int access) const {
  if (size_bytes == 0) return true;
  const auto found = regions_.find(key);
  if (found == regions_.end() || (access_.at(key) & access) != access) return false;
  const auto begin = reinterpret_cast<uintptr_t>(found->second->addr);
  const uint64_t length = found->second->length;
  return address >= begin && size_bytes <= length && address - begin <= length - size_bytes;
}

}  // namespace vof
