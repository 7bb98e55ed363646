# SPDX-License-Identifier: Apache-2.0
"""The files of a checkout, and all rules over them."""

import os
import re

from testing.style import banned, files, layers

# Nothing in these is ours to judge. Paths from the root of the tree.
_SKIPPED_FOLDERS = ('.git', '.cache', 'testing/golden', 'testing/fuzz/corpus')
_SKIPPED_NAMES = ('__pycache__', 'corpus')

# `// style: allow(rule) why`; without a reason it excuses nothing.
_EXCUSE = re.compile(r'(?://|#) style: allow\(([\w-]+)\) \S')


def _is_skipped(path, name):
    return path in _SKIPPED_FOLDERS or name in _SKIPPED_NAMES or name.startswith('bazel-')


def list_files(root):
    """Paths of all files of the checkout, from its root, sorted."""
    found = []
    for folder, folders, names in os.walk(root):
        inside = os.path.relpath(folder, root).replace(os.sep, '/')
        prefix = '' if inside == '.' else inside + '/'
        folders[:] = [name for name in folders if not _is_skipped(prefix + name, name)]
        found += [
            prefix + name for name in names
            if not name.startswith('bazel-') and not os.path.islink(os.path.join(folder, name))
        ]
    return sorted(found)


def read_text(root, path):
    """The text of a file, or None when it is not text."""
    with open(os.path.join(root, path), 'rb') as stream:
        data = stream.read()
    try:
        return None if b'\0' in data else data.decode('utf-8')
    except UnicodeDecodeError:
        return None


def _is_excused(violation, lines):
    near = lines[max(0, violation.line - 2):violation.line]
    return any(match.group(1) == violation.rule
               for line in near
               for match in _EXCUSE.finditer(line))


def check_file(path, source):
    """All violations of one file, but for those excused on their line or the line above."""
    if not files.is_source(path, source):
        return []
    lines = source.split('\n')
    return [found for found in _check_all(path, source) if not _is_excused(found, lines)]


def _check_all(path, source):
    violations = []
    violations += files.check_licence(path, source)
    violations += files.check_length(path, source)
    violations += files.check_white_space(path, source)
    if files.is_cpp(path):
        violations += files.check_functions(path, source)
        violations += banned.check_banned(path, source)
        violations += layers.check_includes(path, source)
    if path.endswith('.h'):
        violations += files.check_guard(path, source)
    return violations
