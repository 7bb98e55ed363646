#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One guest: its RDMA device is there, and two processes reach each other through it.
set -eu
ibv_devinfo -d rxe0 | tee /dev/stderr | grep -q 'state:.*PORT_ACTIVE'
rping -s -C 3 -S 4096 &
server=$!
until rping -c -a 10.77.0.1 -C 3 -S 4096 -V; do
  kill -0 "$server" # Ends the test when the server is not on its way, but gone.
  sleep 0.2
done
wait "$server"
