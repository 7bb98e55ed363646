#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The second of two guests: serves until it is stopped with the guest.
set -eu
test "$VOF_GUEST" = 2
echo serving
exec rping -s -a ::0 -P -S 4096
