// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "tools/common/size.h"
#include "tools/vof/shell/interrupt.h"
#include "tools/vof/shell/progress.h"
#include "tools/vof/transfer/file_endpoint.h"
#include "tools/vof/transfer/transfer.h"
#include "tools/vof/verbs/transfer_verb.h"
#include "tools/vof/verbs/verbs.h"

namespace vof {
namespace {

struct VerifyOptions {
  std::string first;
  std::string second;
  std::optional<uint64_t> size_bytes;
  bool prefix = false;
  uint64_t depth = 16;
};

absl::StatusOr<std::unique_ptr<Endpoint>> OpenSide(const std::string& text, VerbContext* context) {
  const Location location = LocationOf(text);
  if (location.is_uri()) return OpenerFor(context)(text, OpenMode::kRead);
  if (location.kind == LocationKind::kFile) return FileEndpoint::OpenForReading(text);
  return absl::InvalidArgumentError("standard input cannot be compared: it cannot be read again");
}

std::string NameAndSize(const Endpoint& side) {
  return absl::StrCat(side.name(), " has ", side.size_bytes(), " bytes (",
                      HumanSize(side.size_bytes()), ")");
}

// How many bytes to compare.
absl::StatusOr<uint64_t> SizeToCompare(const VerifyOptions& options, const Endpoint& a,
                                       const Endpoint& b) {
  const uint64_t common_bytes = std::min(a.size_bytes(), b.size_bytes());
  if (options.size_bytes) {
    if (*options.size_bytes <= common_bytes) return *options.size_bytes;
    return absl::InvalidArgumentError(absl::StrCat(
        "--length ", *options.size_bytes, " is too long: ", NameAndSize(a), ", ", NameAndSize(b)));
  }
  if (options.prefix || a.size_bytes() == b.size_bytes()) return common_bytes;
  return DataDifferError(absl::StrCat("the sizes differ: ", NameAndSize(a), ", ", NameAndSize(b),
                                      "; --prefix compares what both of them have"));
}

Json ToJson(const VerifyOptions& options, uint64_t compared_bytes) {
  Json json;
  json["first"] = options.first;
  json["second"] = options.second;
  json["equal"] = true;
  json["bytes"] = compared_bytes;
  return json;
}

absl::Status Verify(const VerifyOptions& options, VerbContext* context) {
  const auto a = OpenSide(options.first, context);
  if (!a.ok()) return a.status();
  const auto b = OpenSide(options.second, context);
  if (!b.ok()) return b.status();
  const absl::StatusOr<uint64_t> size_bytes = SizeToCompare(options, **a, **b);
  if (!size_bytes.ok()) return size_bytes.status();

  const InterruptWatch interrupt;
  ProgressLine progress(!context->output.json() && !context->output.quiet());
  const MonotonicTime started = MonotonicNow();
  const TransferOptions transfer{
      .depth = static_cast<int>(options.depth), .tick = [&](uint64_t done_bytes) {
        progress.Show(FormatTransferProgress(done_bytes, *size_bytes, MonotonicNow() - started));
        return !interrupt.requested();
      }};
  TransferCounts counts;
  const auto difference = FindDifference(a->get(), b->get(), *size_bytes, transfer, &counts);
  progress.Clear();
  if (!difference.ok()) return difference.status();
  if (difference->has_value()) {
    return DataDifferError(absl::StrCat(options.first, " and ", options.second,
                                        " differ, first at offset ", **difference));
  }
  return context->output.Result(
      ToJson(options, *size_bytes),
      absl::StrCat("equal: ", *size_bytes, " bytes (", HumanSize(*size_bytes), ") compared\n"));
}

}  // namespace

void AddVerifyVerb(VerbSet* verbs) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* verb = verbs->Add(
      {.name = "verify",
       .summary = "Compares two devices, two files, or one of each.",
       .details =
           "Says at which offset they differ first, with exit code 6. Different sizes are a\n"
           "difference unless --prefix or --length is given.",
       .examples = "  vof verify --prefix image.raw tcp://storage/disk0\n"
                   "  vof verify tcp://storage/disk0 tcp://backup/disk0"},
      [options](VerbContext* context) { return Verify(*options, context); });
  verb->add_option("FIRST", options->first, "a URI or a file")->required();
  verb->add_option("SECOND", options->second, "a URI or a file")->required();
  AddSizeFlag(verb, "--length", &options->size_bytes, "compare only the first SIZE bytes");
  verb->add_flag("--prefix", options->prefix, "compare only as far as the shorter of the two goes");
  AddCountFlag(verb, "--depth", {1, 256}, &options->depth,
               "pieces of 1 MiB in flight (default: 16)");
}

}  // namespace vof
