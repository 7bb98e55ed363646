// SPDX-License-Identifier: Apache-2.0
//
// What the tests of message_channel_end_suite.h share: a pair, and what "broken" means at both
// ends.
#ifndef VOF_TESTING_CONFORMANCE_MESSAGE_CHANNEL_END_FIXTURE_H_
#define VOF_TESTING_CONFORMANCE_MESSAGE_CHANNEL_END_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "core/base/buffer.h"
#include "core/transport/domain.h"
#include "core/transport/message_channel.h"
#include "testing/conformance/channel_harness.h"
#include "testing/conformance/channel_pair.h"

namespace vof {}  // namespace vof

#endif  // VOF_TESTING_CONFORMANCE_MESSAGE_CHANNEL_END_FIXTURE_H_
