#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first of two guests: talks RDMA with the second, over both kinds of addresses.
set -eu
test "$VOF_GUEST" = 1
# The peer has said that it starts, and may need a moment.
until rping -c -a 10.77.0.2 -C 3 -S 4096 -V; do
  sleep 0.2
done
rping -c -a fd00:77::2 -C 3 -S 4096 -V
