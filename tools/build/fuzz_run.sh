#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a fuzz program as a Bazel test: fuzz_run.sh fuzz|replay PROGRAM CORPUS MAX_LEN [DICTIONARY]
set -eu

mode=$1 program=$2 corpus=$3 max_len=$4 dictionary=${5:-}

if [ "$mode" = replay ]; then
  exec "$program" "$corpus"
fi

out=${TEST_UNDECLARED_OUTPUTS_DIR:-${TEST_TMPDIR:-/tmp}}
mkdir -p "$out/crash" "$out/corpus"
set -- -max_total_time="${VOF_FUZZ_SECONDS:-10}" -max_len="$max_len" -timeout=10 \
  -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$out/crash/"
if [ -n "$dictionary" ]; then
  set -- "$@" -dict="$dictionary"
fi
exec "$program" "$@" "$out/corpus" "$corpus"
