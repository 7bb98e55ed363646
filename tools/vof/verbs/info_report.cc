// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/verbs/info_report.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/quoted.h"
#include "tools/common/size.h"

namespace vof {
namespace {

struct BitName {
  uint64_t bit;
  const char* name;
};

constexpr BitName kBlkNames[] = {
    {kBlkFeatureSizeMax, "SIZE_MAX"},
    {kBlkFeatureSegMax, "SEG_MAX"},
    {1ull << 4, "GEOMETRY"},
    {kBlkFeatureReadOnly, "RO"},
    {kBlkFeatureBlockSize, "BLK_SIZE"},
    {kBlkFeatureFlush, "FLUSH"},
    {kBlkFeatureTopology, "TOPOLOGY"},
    {kBlkFeatureConfigWce, "CONFIG_WCE"},
    {kBlkFeatureMultiQueue, "MQ"},
    {kBlkFeatureDiscard, "DISCARD"},
    {kBlkFeatureWriteZeroes, "WRITE_ZEROES"},
    {1ull << 15, "LIFETIME"},
    {1ull << 16, "SECURE_ERASE"},
    {1ull << 17, "ZONED"},
};
constexpr BitName kCommonNames[] = {
    {1ull << 32, "VERSION_1"},
    {1ull << 37, "SR_IOV"},
    {1ull << 39, "NOTIF_CONFIG_DATA"},
};
constexpr BitName kTransportNames[] = {
    {transport_feature::kKeyedNumDescs, "KEYED_NUM_DESCS"},
    {transport_feature::kKeyedEagerBuf, "KEYED_EAGER_BUF"},
    {transport_feature::kCredit, "CREDIT"},
    {transport_feature::kInline, "INLINE"},
    {transport_feature::kRing, "RING"},
    {transport_feature::kNumQueues, "NUM_QUEUES"},
    {transport_feature::kDiscovery, "DISCOVERY"},
    {transport_feature::kDigest, "DIGEST"},
    {transport_feature::kRegion, "REGION"},
};

const char* NameIn(std::span<const BitName> names, uint64_t bit) {
  for (const BitName& entry : names) {
    if (entry.bit == bit) return entry.name;
  }
  return nullptr;
}

std::vector<std::string> NamesOf(uint64_t bits, std::span<const BitName> first,
                                 std::span<const BitName> second) {
  std::vector<std::string> names;
  for (int i = 0; i < 64; ++i) {
    const uint64_t bit = 1ull << i;
    if ((bits & bit) == 0) continue;
    const char* name = NameIn(first, bit);
    if (name == nullptr) name = NameIn(second, bit);
    names.push_back(name != nullptr ? name : absl::StrCat("bit ", i));
  }
  return names;
}

const char* DialectName(Dialect dialect) { return dialect == Dialect::kV5 ? "v5" : "ref"; }

std::string Bytes(uint64_t size_bytes) {
  return absl::StrCat(HumanSize(size_bytes), " (", size_bytes, " bytes)");
}

std::string ListOrNone(const std::vector<std::string>& names) {
  return names.empty() ? "none" : absl::StrJoin(names, " ");
}

void Line(std::string* text, std::string_view label, const std::string& value) {
  absl::StrAppendFormat(text, "%-18s %s\n", std::string(label), value);
}

Json BlkJson(const BlkInfo& blk) {
  Json json;
  json["capacity_bytes"] = blk.capacity_bytes;
  json["unusable_tail_bytes"] = blk.unusable_tail_bytes;
  json["block_bytes"] = blk.block_bytes;
  json["serial"] = blk.serial;
  json["read_only"] = blk.read_only;
  json["write_cache"] = blk.write_cache;
  json["write_cache_known"] = blk.write_cache_known;
  json["can_set_write_cache"] = blk.can_set_cache;
  json["can_flush"] = blk.can_flush;
  json["generation"] = blk.generation;
  json["topology"]["physical_block_bytes"] = blk.physical_block_bytes;
  json["topology"]["alignment_offset_bytes"] = blk.alignment_offset_bytes;
  json["topology"]["min_io_bytes"] = blk.min_io_bytes;
  json["topology"]["opt_io_bytes"] = blk.opt_io_bytes;
  json["discard"]["supported"] = blk.can_discard;
  json["discard"]["max_bytes"] = blk.max_discard_bytes;
  json["discard"]["max_segments"] = blk.max_discard_segments;
  json["discard"]["alignment_bytes"] = blk.discard_alignment_bytes;
  json["write_zeroes"]["supported"] = blk.can_write_zeroes;
  json["write_zeroes"]["may_unmap"] = blk.write_zeroes_may_unmap;
  json["write_zeroes"]["max_bytes"] = blk.max_write_zeroes_bytes;
  json["write_zeroes"]["max_segments"] = blk.max_write_zeroes_segments;
  return json;
}

// What this initiator may send and ask for at once. Of a block device that is less than the target
// takes when its data must be cut into segments: the largest transfer and what surrounds it.
struct RequestSizes {
  uint32_t out_bytes = 0;
  uint32_t in_bytes = 0;
};
RequestSizes LargestRequest(const DeviceFacts& facts) {
  RequestSizes sizes{facts.session.max_out_bytes, facts.session.max_in_bytes};
  if (facts.blk == nullptr) return sizes;
  const auto header_bytes = static_cast<uint32_t>(sizeof(BlkRequestHeader));
  const uint32_t status_bytes = 1;
  sizes.out_bytes = std::min(sizes.out_bytes, facts.blk->max_transfer_bytes + header_bytes);
  sizes.in_bytes = std::min(sizes.in_bytes, facts.blk->max_transfer_bytes + status_bytes);
  return sizes;
}

Json LimitsJson(const DeviceFacts& facts) {
  const RequestSizes sizes = LargestRequest(facts);
  Json json;
  json["max_out_bytes"] = sizes.out_bytes;
  json["max_in_bytes"] = sizes.in_bytes;
  json["max_segments"] = facts.session.max_segments;
  json["inline_request_bytes"] = facts.session.inline_request_bytes;
  json["inline_completion_bytes"] = facts.session.inline_completion_bytes;
  if (facts.blk != nullptr) {
    json["max_transfer_bytes"] = facts.blk->max_transfer_bytes;
    json["size_max_bytes"] = facts.blk->size_max_bytes;
    json["seg_max"] = facts.blk->seg_max;
  }
  return json;
}

std::string WriteCacheText(const BlkInfo& blk) {
  if (!blk.write_cache_known) return "taken for on, since the device does not tell";
  return absl::StrCat(blk.write_cache ? "on" : "off", blk.can_set_cache ? ", can be set" : "");
}

void AppendBlkText(const BlkInfo& blk, std::string* text) {
  Line(text, "capacity", Bytes(blk.capacity_bytes));
  if (blk.unusable_tail_bytes != 0) {
    Line(text, "unusable",
         absl::StrCat("the last ", blk.unusable_tail_bytes,
                      " bytes: the device ends within a block"));
  }
  Line(text, "block size",
       absl::StrCat(blk.block_bytes, " bytes (physical ", blk.physical_block_bytes, ")"));
  if (blk.min_io_bytes != 0 || blk.opt_io_bytes != 0) {
    const std::string best =
        blk.opt_io_bytes == 0 ? "" : absl::StrCat(", best ", blk.opt_io_bytes, " bytes");
    Line(text, "preferred I/O", absl::StrCat("at least ", blk.min_io_bytes, " bytes", best));
  }
  Line(text, "serial", blk.serial.empty() ? "none" : Quoted(blk.serial));
  Line(text, "access", blk.read_only ? "read-only" : "read and write");
  Line(text, "write cache", WriteCacheText(blk));
  Line(text, "largest transfer", Bytes(blk.max_transfer_bytes) + " of data in one request");
  Line(text, "discard",
       blk.can_discard ? absl::StrCat("up to ", HumanSize(blk.max_discard_bytes), " in each of ",
                                      blk.max_discard_segments, " segments")
                       : "not supported");
  Line(text, "write zeroes",
       blk.can_write_zeroes
           ? absl::StrCat("up to ", HumanSize(blk.max_write_zeroes_bytes), " in each of ",
                          blk.max_write_zeroes_segments, " segments",
                          blk.write_zeroes_may_unmap ? ", may unmap" : "")
           : "not supported");
}

}  // namespace

std::string DeviceTypeName(uint32_t device_type) {
  switch (device_type) {
    case 1:
      return "network";
    case kBlkDeviceType:
      return "block";
    default:
      return absl::StrCat("type ", device_type);
  }
}

std::string VendorName(uint32_t vendor_id) {
  return vendor_id == kOurVendorId ? "vof" : absl::StrFormat("0x%08x", vendor_id);
}

std::vector<std::string> FeatureNames(uint64_t features, uint32_t device_type) {
  if (device_type != kBlkDeviceType) return NamesOf(features, {}, kCommonNames);
  return NamesOf(features, kBlkNames, kCommonNames);
}

std::vector<std::string> TransportFeatureNames(uint64_t features) {
  return NamesOf(features, kTransportNames, {});
}

Json InfoJson(const DeviceFacts& facts) {
  const SessionInfo& session = facts.session;
  Json json;
  json["uri"] = facts.uri;
  json["address"] = facts.address;
  json["dialect"] = DialectName(session.dialect);
  json["type"] = DeviceTypeName(session.device_type);
  json["device_id"] = session.device_type;
  json["vendor"] = VendorName(session.vendor_id);
  json["vendor_id"] = session.vendor_id;
  json["instance_id"] = session.instance_id;
  // An identifier, not an amount: numbers of JSON are exact up to 2^53 only.
  json["epoch"] = nullptr;
  if (session.dialect == Dialect::kV5) json["epoch"] = absl::StrCat(session.epoch);
  json["queues"]["available"] = session.num_queues;
  json["queues"]["sizes"] = Json(session.queue_sizes);
  json["features"]["offered"] = Json(FeatureNames(session.offered_features, session.device_type));
  json["features"]["accepted"] = Json(FeatureNames(session.features, session.device_type));
  json["features"]["transport"] = Json(TransportFeatureNames(session.transport_features));
  json["limits"] = LimitsJson(facts);
  if (facts.blk != nullptr) json.update(BlkJson(*facts.blk));
  return json;
}

std::string InfoText(const DeviceFacts& facts) {
  const SessionInfo& session = facts.session;
  std::string text;
  Line(&text, "device", facts.uri);
  Line(&text, "address", facts.address);
  Line(&text, "type", DeviceTypeName(session.device_type));
  Line(&text, "vendor", VendorName(session.vendor_id));
  if (facts.blk != nullptr) AppendBlkText(*facts.blk, &text);
  Line(&text, "dialect", DialectName(session.dialect));
  Line(&text, "queues",
       absl::StrCat(session.num_queues, ", opened with sizes ",
                    absl::StrJoin(session.queue_sizes, " ")));
  Line(&text, "features", ListOrNone(FeatureNames(session.features, session.device_type)));
  if (session.features != session.offered_features) {
    Line(&text, "offered", ListOrNone(FeatureNames(session.offered_features, session.device_type)));
  }
  Line(&text, "transport", ListOrNone(TransportFeatureNames(session.transport_features)));
  const RequestSizes sizes = LargestRequest(facts);
  Line(&text, "largest request",
       absl::StrCat(sizes.out_bytes, " bytes out, ", sizes.in_bytes, " bytes in, ",
                    session.max_segments, " segments"));
  if (session.inline_request_bytes != 0 || session.inline_completion_bytes != 0) {
    Line(&text, "inside messages",
         absl::StrCat("up to ", session.inline_request_bytes, " bytes of a request, ",
                      session.inline_completion_bytes, " of a result"));
  }
  Line(&text, "epoch", session.dialect == Dialect::kV5 ? absl::StrCat(session.epoch) : "not known");
  return text;
}

}  // namespace vof
