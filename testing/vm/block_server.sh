#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The second of two guests: serves a disk over RDMA until it is stopped with the guest.
#   block_server.sh VOF-TARGET
set -eu
test "$VOF_GUEST" = 2
exec "$1" --listen verbs://10.77.0.2:8549 --listen 'verbs://[fd00:77::2]:8549' \
  --blk name=disk,store=memory,size=64M,queues=2
