// SPDX-License-Identifier: Apache-2.0
//
// Every verb of the program, in the order of its help; each is in the file of its name.
//
//   const std::vector<Verb> verbs = AllVerbs();
#ifndef VOF_TOOLS_VOF_VERBS_VERBS_H_
#define VOF_TOOLS_VOF_VERBS_VERBS_H_

#include <vector>

#include "tools/vof/shell/verb.h"

namespace vof {

Verb InfoVerb();
Verb PingVerb();
Verb ReadVerb();
Verb WriteVerb();
Verb CopyVerb();
Verb VerifyVerb();
Verb FlushVerb();
Verb DiscardVerb();
Verb BenchVerb();

inline std::vector<Verb> AllVerbs() {
  return {InfoVerb(),   PingVerb(),  ReadVerb(),    WriteVerb(), CopyVerb(),
          VerifyVerb(), FlushVerb(), DiscardVerb(), BenchVerb()};
}

}  // namespace vof

#endif  // VOF_TOOLS_VOF_VERBS_VERBS_H_
