// SPDX-License-Identifier: Apache-2.0
//
// Every verb of the program; each is in the file of its name.
//
//   VerbSet verbs(&app, &flags);
//   AddInfoVerb(&verbs);
#ifndef VOF_TOOLS_VOF_VERBS_VERBS_H_
#define VOF_TOOLS_VOF_VERBS_VERBS_H_

#include "tools/vof/shell/verb.h"

namespace vof {

void AddInfoVerb(VerbSet* verbs);
void AddPingVerb(VerbSet* verbs);
void AddReadVerb(VerbSet* verbs);
void AddWriteVerb(VerbSet* verbs);
void AddCopyVerb(VerbSet* verbs);
void AddVerifyVerb(VerbSet* verbs);
void AddFlushVerb(VerbSet* verbs);
void AddDiscardVerb(VerbSet* verbs);
void AddBenchVerb(VerbSet* verbs);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_VERBS_VERBS_H_
