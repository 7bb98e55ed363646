// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/engine/initiator_status.h"
#include "tools/common/size.h"
#include "tools/vof/device/open_device.h"
#include "tools/vof/shell/interrupt.h"
#include "tools/vof/shell/progress.h"
#include "tools/vof/transfer/file_endpoint.h"
#include "tools/vof/transfer/same_store.h"
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
  const absl::Status two = CheckTwoDevices("a comparison", options.first, options.second);
  if (!two.ok()) return two;
  auto a = OpenSide(options.first, context);
  if (!a.ok()) return a.status();
  auto b = OpenSide(options.second, context);
  if (!b.ok()) return b.status();
  const absl::Status two_stores = CheckTwoStores("a comparison", **a, **b);
  if (!two_stores.ok()) return two_stores;
  return Sides{*std::move(a), *std::move(b)};
}

// How many bytes to compare.
absl::StatusOr<uint64_t> SizeToCompare(const VerifyOptions& options, const Sides& sides) {
  const uint64_t common_bytes = std::min(sides.a->size_bytes(), sides.b->size_bytes());
  if (options.size_bytes.value_or(0) <= common_bytes) {
    return options.size_bytes.value_or(common_bytes);
  }
  return absl::InvalidArgumentError(absl::StrCat("--length ", *options.size_bytes,
                                                 " bytes is too long: ", NameAndSize(*sides.a),
                                                 ", ", NameAndSize(*sides.b)));
}

// One ends where the other goes on: a difference behind all that both of them have.
bool SizesDiffer(const VerifyOptions& options, const Sides& sides) {
  return !options.prefix && !options.size_bytes && sides.a->size_bytes() != sides.b->size_bytes();
}

struct Verdict {
  uint64_t size_bytes = 0;               // of the ranges that were compared
  bool sizes_differ = false;             // which makes the end of the shorter one a difference
  std::optional<uint64_t> difference{};  // the first offset

  bool equal() const { return !difference.has_value(); }
};

// What is known in any case.
Json SidesJson(const VerifyOptions& options, const Sides& sides) {
  Json json;
  json["first"] = options.first;
  json["second"] = options.second;
  json["first_bytes"] = sides.a->size_bytes();
  json["second_bytes"] = sides.b->size_bytes();
  return json;
}

Json ToJson(const VerifyOptions& options, const Sides& sides, const Verdict& verdict) {
  Json json = SidesJson(options, sides);
  json["equal"] = verdict.equal();
  json["bytes"] = verdict.size_bytes;
  json["prefix_bytes"] = verdict.difference.value_or(verdict.size_bytes);
  json["first_difference"] = nullptr;
  if (!verdict.equal()) json["first_difference"] = *verdict.difference;
  return json;
}

// Of a comparison that did not come to its end.
Json ToJson(const VerifyOptions& options, const Sides& sides, const TransferCounts& counts) {
  Json json = SidesJson(options, sides);
  json["equal"] = nullptr;
  json["bytes"] = counts.bytes;
  json["prefix_bytes"] = counts.prefix_bytes;
  json["first_difference"] = nullptr;
  return json;
}

std::string HowFar(const TransferCounts& counts) {
  if (counts.bytes == 0) return "nothing was compared";
  if (counts.prefix_bytes == 0) {
    return absl::StrCat(counts.bytes, " bytes were compared, but not the first ones");
  }
  const uint64_t behind_bytes = counts.bytes - counts.prefix_bytes;
  return absl::StrCat(
      "the first ", counts.prefix_bytes, " bytes (", HumanSize(counts.prefix_bytes), ") are equal",
      behind_bytes == 0 ? ""
                        : absl::StrCat(", ", behind_bytes, " behind them were compared as well"));
}

std::string Explain(const VerifyOptions& options, const Sides& sides, const Verdict& verdict) {
  const std::string sizes =
      absl::StrCat("the sizes differ: ", NameAndSize(*sides.a), ", ", NameAndSize(*sides.b));
  if (*verdict.difference == verdict.size_bytes) {
    return absl::StrCat(sizes, "; what both of them have, ", verdict.size_bytes,
                        " bytes, is equal; --prefix compares only that");
  }
  return absl::StrCat(options.first, " and ", options.second, " differ, first at offset ",
                      *verdict.difference, verdict.sizes_differ ? "; " + sizes : "");
}

absl::StatusOr<std::optional<uint64_t>> Compare(const VerifyOptions& options, const Sides& sides,
                                                uint64_t size_bytes, VerbContext* context,
                                                TransferCounts* counts) {
  Output* const output = &context->output;
  const InterruptWatch interrupt(&context->interrupts);
  ProgressLine progress(!output->json() && !output->quiet());
  const MonotonicTime started = MonotonicNow();
  const TransferOptions transfer{
      .depth = static_cast<int>(options.depth),
      .tick =
          [&](uint64_t done_bytes) {
            if (interrupt.requested()) return false;
            progress.Show(FormatTransferProgress(done_bytes, size_bytes, MonotonicNow() - started));
            return true;
          },
      .on_slow_stop = [&](int num_pieces) { NoteSlowStop(num_pieces, &progress, output); }};
  return FindDifference(sides.a.get(), sides.b.get(), size_bytes, transfer, counts);
}

absl::Status Verify(const VerifyOptions& options, VerbContext* context) {
  const absl::StatusOr<Sides> sides = OpenSides(options, context);
  if (!sides.ok()) return sides.status();
  const absl::StatusOr<uint64_t> size_bytes = SizeToCompare(options, *sides);
  if (!size_bytes.ok()) return size_bytes.status();
  TransferCounts counts;
  auto difference = Compare(options, *sides, *size_bytes, context, &counts);
  if (!difference.ok()) {
    (void)context->output.Result(ToJson(options, *sides, counts), "");
    return WithHint(HowFar(counts), difference.status());
  }
  Verdict verdict{*size_bytes, SizesDiffer(options, *sides), *difference};
  if (verdict.equal() && verdict.sizes_differ) verdict.difference = verdict.size_bytes;
  const std::string text =
      absl::StrCat("equal: ", *size_bytes, " bytes (", HumanSize(*size_bytes), ") compared\n");
  const absl::Status shown =
      context->output.Result(ToJson(options, *sides, verdict), verdict.equal() ? text : "");
  return verdict.equal() ? shown : DataDifferError(Explain(options, *sides, verdict));
}

}  // namespace

Verb VerifyVerb() {
  auto options = std::make_shared<VerifyOptions>();
  return {.name = "verify",
          .summary = "Compares two devices, two files, or one of each.",
          .details =
              "Says at which offset they differ first, with exit code 6. Of different sizes what\n"
              "both have is compared; if that is equal, they differ where the shorter one ends,\n"
              "unless --prefix or --length is given.",
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
