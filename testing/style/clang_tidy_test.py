# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over the code that people run (not over tests), warnings as errors.

    clang_tidy_test.py WORKSPACE [FILE...]       # FILE: only these, paths from the root

Most of the time of clang-tidy goes into system headers. So sources are checked in groups, each
through a generated file that includes them. Sources that seem to use a name in their own ways go
into different groups; a group that does not compile as one file all the same is halved. Headers are
checked in one go in the same manner.
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
_GROUP_SIZE = 20
# What begins at the start of a line: our format does not indent the contents of namespaces.
_DEFINED = re.compile(
    r'^(?:(?:class|struct|union|enum(?: class)?|using) (\w+)'
    r'|(?:inline |static )*const(?:expr)? [^=({;]*?(\w+)(?:\[\w*\])? ?[=({;]'
    r'|[A-Za-z][\w:<>,*& ]*[ *&](\w+)\()', re.MULTILINE)


def _is_ours(path):
    return (path.startswith(_FOLDERS) and not path.startswith(_NO_LIBRARY) and
            not banned.is_test(path))


def _flags(root, generated):
    """Compiler flags: ours, and the defines of the one library that needs some."""
    spdlog = subprocess.run(['pkg-config', '--cflags', 'spdlog'], capture_output=True, text=True,
                            check=False)
    return [
        '-xc++', '-std=c++20', '-Wall', '-Wextra', '-Wold-style-cast',
        '-Wzero-as-null-pointer-constant', '-I' + root, '-isystem', generated
    ] + spdlog.stdout.split()


def _generate_protos(root, paths, generated):
    protos = [path for path in paths if path.endswith('.proto')]
    if protos:
        subprocess.run(['protoc', '-I' + root, '--cpp_out=' + generated] +
                       [os.path.join(root, path) for path in protos], check=True)


def _write_including(paths, folder, name):
    path = os.path.join(folder, name + '.cc')
    with open(path, 'w', encoding='utf-8') as stream:
        stream.write(''.join(f'#include "{included}"  // NOLINT(bugprone-suspicious-include)\n'
                             for included in paths))
    return path


def _compiles(source, flags):
    return subprocess.run(['clang++-14', '-fsyntax-only', source] + flags, capture_output=True,
                          check=False).returncode == 0


def _names_of(root, source):
    with open(os.path.join(root, source), encoding='utf-8') as stream:
        return {name for match in _DEFINED.findall(stream.read()) for name in match if name}


def _disjoint(root, sources):
    """Groups of sources that define no name twice, as far as a look at the text tells."""
    groups = []
    for source in sources:
        names = _names_of(root, source)
        for group, taken in groups:
            if len(group) < _GROUP_SIZE and not names & taken:
                group.append(source)
                taken |= names
                break
        else:
            groups.append(([source], names))
    return [group for group, _ in groups]


def _groups(root, sources, folder, flags):
    """Generated files that include the sources, each as many of them as compile together."""
    waiting = _disjoint(root, sources)
    while waiting:
        group = waiting.pop(0)
        path = _write_including(group, folder, group[0].replace('/', '_'))
        if len(group) > 1 and not _compiles(path, flags):
            middle = len(group) // 2
            waiting = [group[:middle], group[middle:]] + waiting
        else:
            yield path, group


def _run(root, source, group, flags, header_filter):
    started = time.monotonic()
    result = subprocess.run(
        [_PROGRAM, '--quiet', f'--config-file={root}/.clang-tidy', f'--header-filter={header_filter}',
         source, '--'] + flags, cwd=root, capture_output=True, text=True, check=False)
    report = f'{time.monotonic() - started:6.1f} s  {" ".join(group)}'
    if result.returncode != 0:
        # The rest of stderr counts warnings that were suppressed.
        errors = [line for line in result.stderr.split('\n') if 'error' in line]
        report += '\n' + result.stdout + '\n'.join(errors)
    print(report, flush=True)
    return result.returncode


def main(workspace_file, *only):
    root = os.path.dirname(os.path.realpath(workspace_file))
    for program in (_PROGRAM, 'clang++-14', 'protoc'):
        if not shutil.which(program):
            print(f'{program} not found: apt-get install clang-14 clang-tidy-14 protobuf-compiler')
            return 1
    paths = tree.list_files(root)
    chosen = [path for path in paths if _is_ours(path) and (not only or path in only)]
    headers = [path for path in chosen if path.endswith('.h')]
    sources = [path for path in chosen if path.endswith('.cc')]
    if not headers and not sources:
        print(f'nothing to check below {root}: the test does not see the tree')
        return 1
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(os.cpu_count()) as pool:
        _generate_protos(root, paths, scratch)
        flags = _flags(root, scratch)
        folders = '^' + re.escape(root) + '/(core|backends|devices|tools)/.*'
        runs = []
        if headers:
            path = _write_including(headers, scratch, 'all_headers')
            runs.append(pool.submit(_run, root, path, ['all headers'], flags, folders + r'\.h$'))
        for path, group in _groups(root, sources, scratch, flags):
            runs.append(pool.submit(_run, root, path, group, flags, folders + r'\.cc$'))
        codes = [run.result() for run in runs]
    failed = sum(code != 0 for code in codes)
    print(f'{len(sources)} sources and {len(headers)} headers, {failed} runs with findings')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
