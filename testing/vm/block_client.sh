#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first of two guests: copies to the disk of the second and back, over both kinds of addresses.
#   block_client.sh VOF
set -eu
test "$VOF_GUEST" = 1
vof=$1
directory=$(mktemp -d)
head -c 20000256 /dev/urandom >"$directory/in"
truncate -s 20000256 "$directory/in" # Whole blocks.
for uri in 'verbs://10.77.0.2/disk?dialect=v5&queues=2' 'verbs://[fd00:77::2]/disk?dialect=ref'; do
  "$vof" info "$uri"
  "$vof" copy "$directory/in" "$uri"
  "$vof" verify --prefix "$directory/in" "$uri"
  "$vof" read --length 20000256 --output "$directory/out" "$uri"
  cmp "$directory/in" "$directory/out"
  rm "$directory/out"
  "$vof" bench "$uri" --rw randrw --verify --bs 4k --depth 16 --ops 1000
done
