# SPDX-License-Identifier: Apache-2.0
"""Runs all style rules over the checkout that the given WORKSPACE file belongs to."""

import os
import sys

from testing.style import tree


def main(workspace_file):
    root = os.path.dirname(os.path.realpath(workspace_file))
    violations, checked, cpp = [], 0, 0
    for path in tree.list_files(root):
        source = tree.read_text(root, path)
        if source is None:
            continue
        checked += 1
        cpp += path.endswith(('.h', '.cc'))
        violations += tree.check_file(path, source)
    for violation in violations:
        print(violation)
    print(f'{checked} files, {cpp} of them C++, {len(violations)} violations')
    if cpp == 0:
        print(f'no C++ file below {root}: the test does not see the tree')
        return 1
    return 1 if violations else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
