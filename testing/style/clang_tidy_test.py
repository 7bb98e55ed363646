# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over the code that people run (not over tests), warnings as errors.

    clang_tidy_test.py WORKSPACE [FILE...]       # FILE: only these, paths from the root

Sources are checked one by one. All headers are checked in one go through a generated file that
includes them, rather than again in each source that includes them: that is what keeps it quick.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from testing.style import banned, tree

_PROGRAM = 'clang-tidy-14'
_FOLDERS = ('core/', 'backends/', 'devices/', 'tools/')
_NO_LIBRARY = ('tools/build/',)


def _is_ours(path):
    return (path.startswith(_FOLDERS) and not path.startswith(_NO_LIBRARY) and
            not banned.is_test(path))


def _flags(root, generated):
    """Compiler flags: ours, and the defines of the one library that needs some."""
    spdlog = subprocess.run(['pkg-config', '--cflags', 'spdlog'], capture_output=True, text=True,
                            check=False)
    return ['-xc++', '-std=c++20', '-Wall', '-Wextra', '-I' + root, '-isystem', generated
           ] + spdlog.stdout.split()


def _generate_protos(root, paths, generated):
    protos = [path for path in paths if path.endswith('.proto')]
    if protos:
        subprocess.run(['protoc', '-I' + root, '--cpp_out=' + generated] +
                       [os.path.join(root, path) for path in protos], check=True)


def _write_header_source(headers, folder):
    path = os.path.join(folder, 'all_headers.cc')
    with open(path, 'w', encoding='utf-8') as stream:
        stream.write(''.join(f'#include "{header}"\n' for header in headers))
    return path


def _run(root, source, flags, header_filter):
    started = time.monotonic()
    result = subprocess.run(
        [_PROGRAM, '--quiet', f'--config-file={root}/.clang-tidy', f'--header-filter={header_filter}',
         source, '--'] + flags, cwd=root, capture_output=True, text=True, check=False)
    name = os.path.relpath(source, root) if source.startswith(root + '/') else 'all headers'
    print(f'{time.monotonic() - started:6.1f} s  {name}', flush=True)
    if result.returncode != 0:
        # The rest of stderr counts warnings that were suppressed.
        errors = [line for line in result.stderr.split('\n') if 'error' in line]
        print(result.stdout + '\n'.join(errors), flush=True)
    return result.returncode


def main(workspace_file, *only):
    root = os.path.dirname(os.path.realpath(workspace_file))
    for program in (_PROGRAM, 'protoc'):
        if not shutil.which(program):
            print(f'{program} not found: apt-get install clang-tidy-14 protobuf-compiler')
            return 1
    paths = tree.list_files(root)
    chosen = [path for path in paths if _is_ours(path) and (not only or path in only)]
    headers = [path for path in chosen if path.endswith('.h')]
    sources = [os.path.join(root, path) for path in chosen if path.endswith('.cc')]
    if not headers and not sources:
        print(f'nothing to check below {root}: the test does not see the tree')
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        _generate_protos(root, paths, scratch)
        flags = _flags(root, scratch)
        ours = '^' + re.escape(root) + '/(core|backends|devices|tools)/'
        jobs = [(_write_header_source(headers, scratch), ours)] if headers else []
        jobs += [(source, '^$') for source in sources]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            codes = list(pool.map(lambda job: _run(root, job[0], flags, job[1]), jobs))
    failed = sum(code != 0 for code in codes)
    print(f'{len(sources)} sources and {len(headers)} headers, {failed} runs with findings')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
