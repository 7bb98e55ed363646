#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a Python test from the root of its runfiles: python_run.sh SCRIPT [ARGUMENT...]
set -eu
PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH
exec python3 -B "$@"
