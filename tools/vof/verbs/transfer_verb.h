// SPDX-License-Identifier: Apache-2.0
//
// What the verbs that move data share: progress, interruption, and the report at the end.
//
//   return RunTransferVerb("copied", job, context);
#ifndef VOF_TOOLS_VOF_VERBS_TRANSFER_VERB_H_
#define VOF_TOOLS_VOF_VERBS_TRANSFER_VERB_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "tools/vof/shell/output.h"
#include "tools/vof/shell/progress.h"
#include "tools/vof/shell/verb.h"
#include "tools/vof/transfer/transfer_job.h"

namespace vof {

// Tells the user who has interrupted that the target is waited for: for the answers to so many
// pieces, or whatever `what` is.
void NoteSlowStop(std::string_view what, uint64_t count, Output* output);
void NoteSlowStop(int num_pieces, ProgressLine* progress, Output* output);

// `done_word` opens the report: "copied 64 MiB in 1.2 s". Standard output that takes the data takes
// no report; together with --json that is wrong usage.
absl::Status RunTransferVerb(std::string_view done_word, const TransferJob& job,
                             VerbContext* context);

// Opens devices as endpoints, with the common flags applied.
DeviceOpener OpenerFor(VerbContext* context);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_VERBS_TRANSFER_VERB_H_
