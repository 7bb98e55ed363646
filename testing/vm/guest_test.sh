#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The program of every vof_guest_test: guest_test.sh RUN_IN_GUEST ARGUMENT...
set -eu
runner=$1
shift
# What a test hands to Bazel has to leave the guest.
exec "$runner" --output "$(dirname "$XML_OUTPUT_FILE")" --output "$TEST_UNDECLARED_OUTPUTS_DIR" "$@"
