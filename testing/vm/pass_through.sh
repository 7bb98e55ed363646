#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Part of run_in_guest_test.py: says where it runs and with what, and leaves a process behind.
printf 'directory %s\n' "$PWD"
printf 'argument <%s>\n' "$@"
printf 'variable <%s>\n' "$ODD_VARIABLE"
printf 'guest %s\n' "$VOF_GUEST"
printf 'no newline at the end of stderr' >&2
head -c 300000 /dev/zero | tr '\0' x
ls "$OUTPUT_DIRECTORY"
echo 'from the guest' >"$OUTPUT_DIRECTORY/written"
echo 'lost' >"$OUTPUT_DIRECTORY/../not_written"
sleep 1000 &
exit 200
