#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The counter is one device behind two fabrics: the second answer builds on the first.
set -eu
out=$("$1")
echo "$out"
grep -qx 'loop:///counter: the counter stands at 21' <<<"$out"
grep -qEx 'tcp://127\.0\.0\.1:[0-9]+/counter: the counter stands at 42' <<<"$out"
