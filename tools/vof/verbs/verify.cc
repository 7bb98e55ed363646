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

// The two sides, open.
struct Sides {
  std::unique_ptr<Endpoint> a;
  std::unique_ptr<Endpoint> b;
};

absl::StatusOr<Sides> OpenSides(const VerifyOptions& options, VerbContext* context) {
  auto a = OpenSide(options.first, context);
  if (!a.ok()) return a.status();
  auto b = OpenSide(options.second, context);
  if (!b.ok()) return b.status();
  return Sides{*std::move(a), *std::move(b)};
}

// How many bytes to compare.
absl::StatusOr<uint64_t> SizeToCompare(const VerifyOptions& options, const Sides& sides) {
  const uint64_t common_bytes = std::min(sides.a->size_bytes(), sides.b->size_bytes());
  if (options.size_bytes.value_or(0) <= common_bytes) {
    return options.size_bytes.value_or(common_bytes);
  }
  return absl::InvalidArgumentError(absl::StrCat("--length ", *options.size_bytes,
                                                 " is too long: ", NameAndSize(*sides.a), ", ",
                                                 NameAndSize(*sides.b)));
}

bool SizesMatter(const VerifyOptions& options, const Sides& sides) {
  return !options.prefix && !options.size_bytes && sides.a->size_bytes() != sides.b->size_bytes();
}

// `compared_bytes` 0 and no `difference`: the sizes differ.
Json ToJson(const VerifyOptions& options, const Sides& sides, uint64_t compared_bytes, bool equal,
            std::optional<uint64_t> difference) {
  Json json;
  json["first"] = options.first;
  json["second"] = options.second;
  json["first_bytes"] = sides.a->size_bytes();
  json["second_bytes"] = sides.b->size_bytes();
  json["equal"] = equal;
  json["bytes"] = compared_bytes;
  json["first_difference"] = nullptr;
  if (difference) json["first_difference"] = *difference;
  return json;
}

absl::StatusOr<std::optional<uint64_t>> Compare(const VerifyOptions& options, const Sides& sides,
                                                uint64_t size_bytes, const Output& output) {
  const InterruptWatch interrupt;
  ProgressLine progress(!output.json() && !output.quiet());
  const MonotonicTime started = MonotonicNow();
  const TransferOptions transfer{
      .depth = static_cast<int>(options.depth), .tick = [&](uint64_t done_bytes) {
        progress.Show(FormatTransferProgress(done_bytes, size_bytes, MonotonicNow() - started));
        return !interrupt.requested();
      }};
  TransferCounts counts;
  return FindDifference(sides.a.get(), sides.b.get(), size_bytes, transfer, &counts);
}

absl::Status Verify(const VerifyOptions& options, VerbContext* context) {
  const absl::StatusOr<Sides> sides = OpenSides(options, context);
  if (!sides.ok()) return sides.status();
  const absl::StatusOr<uint64_t> size_bytes = SizeToCompare(options, *sides);
  if (!size_bytes.ok()) return size_bytes.status();
  Output& output = context->output;
  if (SizesMatter(options, *sides)) {
    (void)output.Result(ToJson(options, *sides, 0, false, {}), "");
    return DataDifferError(absl::StrCat("the sizes differ: ", NameAndSize(*sides->a), ", ",
                                        NameAndSize(*sides->b),
                                        "; --prefix compares what both of them have"));
  }
  const auto difference = Compare(options, *sides, *size_bytes, output);
  if (!difference.ok()) return difference.status();
  const bool equal = !difference->has_value();
  const absl::Status shown = output.Result(
      ToJson(options, *sides, *size_bytes, equal, *difference),
      equal
          ? absl::StrCat("equal: ", *size_bytes, " bytes (", HumanSize(*size_bytes), ") compared\n")
          : "");
  if (equal) return shown;
  return DataDifferError(absl::StrCat(options.first, " and ", options.second,
                                      " differ, first at offset ", **difference));
}

}  // namespace

Verb VerifyVerb() {
  auto options = std::make_shared<VerifyOptions>();
  return {.name = "verify",
          .summary = "Compares two devices, two files, or one of each.",
          .details =
              "Says at which offset they differ first, with exit code 6. Different sizes are a\n"
              "difference unless --prefix or --length is given.",
          .examples =
              "  vof verify --prefix image.raw tcp://storage/disk0\n"
              "  vof verify tcp://storage/disk0 tcp://backup/disk0",
          .flags = {Argument("FIRST", &options->first, "a URI or a file"),
                    Argument("SECOND", &options->second, "a URI or a file"),
                    SizeFlag("--length", &options->size_bytes, "compare only the first SIZE bytes"),
                    Switch("--prefix", &options->prefix,
                           "compare only as far as the shorter of the two goes"),
                    CountFlag("--depth", {1, 256}, &options->depth,
                              "pieces of 1 MiB in flight (default: 16)")},
          .run = [options](VerbContext* context) { return Verify(*options, context); }};
}

}  // namespace vof
