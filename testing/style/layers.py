# SPDX-License-Identifier: Apache-2.0
"""Which folder may include which (docs/architecture.md, "One picture").

Includes point downwards only: tools -> {devices, backends} -> core, and within core
runtime -> engine -> {device, transport} -> memory -> wire -> base.
"""

import re

from testing.style.banned import is_test
from testing.style.violation import Violation

_BELOW = {
    'core/base': [],
    'core/wire': ['core/base'],
    'core/memory': ['core/wire', 'core/base'],
    'core/device': ['core/memory', 'core/wire', 'core/base'],
    'core/transport': ['core/memory', 'core/wire', 'core/base'],
    'core/engine': ['core/device', 'core/transport', 'core/memory', 'core/wire', 'core/base'],
    'core/runtime': ['core'],
    'devices': ['core'],
    'backends': ['core'],
    'tools': ['devices', 'backends', 'core'],
    'testing': ['tools', 'devices', 'backends', 'core', 'docs'],
    'docs': ['tools', 'devices', 'backends', 'core'],
}

# Siblings that must not know each other: a device another device, a backend another backend.
_SEPARATE = ('devices', 'backends')
# A folder with one of these names is meant for its siblings.
_SHARED = ('common',)

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)
_SOCKETS = re.compile(r'^(sys/(socket|epoll|eventfd|un)|netinet/.*|arpa/.*|netdb|poll|liburing)\.h$')
_THREADS = re.compile(r'^(thread|condition_variable|future|pthread\.h)$')
_WITHOUT_IO = ('core/base', 'core/wire', 'core/memory', 'core/device', 'core/transport', 'core/engine')
_WITHOUT_THREADS = ('core/wire', 'core/engine')


def _layer(path):
    """The entry of _BELOW that holds a path, or None."""
    return max((layer for layer in _BELOW if path.startswith(layer + '/')), key=len, default=None)


def _folder(path):
    """`devices/blk` of `devices/blk/store/x.h`."""
    return '/'.join(path.split('/')[:2])


def _allowed(path, included):
    source, target = _layer(path), _layer(included)
    if source is None or target is None:
        return source is not None and '/' in included
    if source == target:
        if source in _SEPARATE and _folder(path) != _folder(included):
            return included.split('/')[1] in _SHARED
        return True
    if target == 'testing' and is_test(path):
        return True
    return any(included.startswith(below + '/') for below in _BELOW[source])


def check_includes(path, source):
    """Reports includes that point upwards, or at an operating system the layer must not see."""
    violations = []
    layer = _layer(path)
    test = is_test(path)
    for match in _INCLUDE.finditer(source):
        line = source.count('\n', 0, match.start()) + 1
        quoted, name = match.group(1) == '"', match.group(2)
        message = None
        if quoted and _layer(name) is None and '/' not in name:
            message = f'"{name}" is not given from the root of the workspace'
        elif quoted and _layer(name) is not None and not _allowed(path, name):
            message = f'{_folder(path)} must not see {_folder(name)}: includes point downwards only'
        elif not test and layer in _WITHOUT_IO and _SOCKETS.match(name):
            message = f'{layer} does no I/O: <{name}> belongs to a backend or to core/runtime'
        elif not test and layer in _WITHOUT_THREADS and _THREADS.match(name):
            message = f'{layer} starts no thread and waits for none: no <{name}>'
        if message:
            violations.append(Violation(path, line, 'include-direction', message))
    return violations
