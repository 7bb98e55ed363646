# SPDX-License-Identifier: Apache-2.0
"""Every C++ file is as clang-format-14 would write it."""

import os
import shutil
import subprocess
import sys

from testing.style import tree

_PROGRAM = 'clang-format-14'


def main(workspace_file):
    root = os.path.dirname(os.path.realpath(workspace_file))
    if not shutil.which(_PROGRAM):
        print(f'{_PROGRAM} not found: apt-get install {_PROGRAM}')
        return 1
    paths = [path for path in tree.list_files(root) if path.endswith(('.h', '.cc'))]
    if not paths:
        print(f'no C++ file below {root}: the test does not see the tree')
        return 1
    result = subprocess.run([_PROGRAM, '--style=file', '--dry-run', '--Werror'] + paths,
                            cwd=root, check=False)
    if result.returncode != 0:
        print(f'to mend it: {_PROGRAM} -i FILE...')
    print(f'{len(paths)} files')
    return result.returncode


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
