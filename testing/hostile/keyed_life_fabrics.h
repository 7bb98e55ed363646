// SPDX-License-Identifier: Apache-2.0
//
// The backends of keyed_life_test: one file for those of this machine, one for those of the guest.
#ifndef VOF_TESTING_HOSTILE_KEYED_LIFE_FABRICS_H_
#define VOF_TESTING_HOSTILE_KEYED_LIFE_FABRICS_H_

#include "core/runtime/backend.h"

namespace vof {

// Before there are threads.
void PrepareFabricsOfTest();
// Loads what takes long.
void LoadFabricsOfTest();
void RegisterFabricsOfTest(BackendRegistry& registry);

}  // namespace vof

#endif  // VOF_TESTING_HOSTILE_KEYED_LIFE_FABRICS_H_
