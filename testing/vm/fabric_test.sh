#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One guest: the programs over fabrics that only it has. Arguments as those of fabric_test.py.
set -eu
PYTHONPATH=. exec python3 -B tools/vof/system/fabric_test.py "$@"
