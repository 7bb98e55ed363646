// SPDX-License-Identifier: Apache-2.0
#include "backends/verbs/testing/fake_verbs.h"
#include "testing/vm/device_of_test.h"

namespace vof {

std::shared_ptr<VerbsCalls> DeviceOfTest() { return std::make_shared<FakeVerbs>(); }

}  // namespace vof
