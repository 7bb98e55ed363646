# SPDX-License-Identifier: Apache-2.0
"""Finds the functions of a C++ file by its braces.

    for function in find_functions(source):
        print(function.name, function.length_lines)

Not a parser: it follows braces and looks at the text before each one. Lambdas and local classes
belong to the function around them. When braces do not pair it raises LostTrack rather than guess.
"""

import re
from typing import NamedTuple

from testing.style.cpp_text import code_only, line_of, without_directives


class LostTrack(Exception):
    """The braces of the file do not pair."""


class Function(NamedTuple):
    """A function definition; its length runs from the first line of its head to its closing brace."""

    name: str
    first_line: int
    length_lines: int


_SCOPE = re.compile(r'\b(namespace|class|struct|union|enum)\b|\bextern\s*"')
# `struct alignas(64) X {`, but not `struct X F() const {`.
_ATTRIBUTED_CLASS = re.compile(r'\b(?:class|struct|union)\b.*\)\s*(?!const\b|noexcept\b|override\b)\w+\s*$', re.DOTALL)
_TEMPLATE = re.compile(r'\btemplate\s*<')
_OPERATOR = re.compile(r'\boperator\s*(?:\(\s*\)|\[\s*\]|[^\s\w(]+)')
_CONSTRUCTOR_LIST = re.compile(r'\)\s*(?:noexcept\s*(?:\([^)]*\))?\s*)?(?<!:):(?!:)')
_ASSIGNMENT = re.compile(r'(?<![=!<>])=(?!=)')
_NAME = re.compile(r'([~\w]+(?:\s*::\s*[~\w]+)*)\s*\(')


def _skip_braces(code, start):
    """The offset after the brace that closes the one at `start`."""
    depth = 0
    for offset in range(start, len(code)):
        if code[offset] == '{':
            depth += 1
        elif code[offset] == '}':
            depth -= 1
            if depth == 0:
                return offset + 1
    raise LostTrack(f'the brace of line {line_of(code, start)} is never closed')


def _without_template(head):
    match = _TEMPLATE.search(head)
    while match:
        depth, end = 1, match.end()
        while end < len(head) and depth > 0:
            depth += {'<': 1, '>': -1}.get(head[end], 0)
            end += 1
        head = head[:match.start()] + ' ' + head[end:]
        match = _TEMPLATE.search(head)
    return head


def _outside_parentheses(text):
    depth, kept = 0, []
    for char in text:
        if char == ')':
            depth -= 1
        if depth == 0:
            kept.append(char)
        if char == '(':
            depth += 1
    return ''.join(kept)


def _classify(head):
    """What a brace after `head` opens: 'scope', 'function' or 'value'."""
    if head.count('(') > head.count(')'):
        return 'value'  # A default argument, or a lambda in one.
    plain = _OPERATOR.sub('operator', _without_template(head))
    outside = _outside_parentheses(plain)
    if _ASSIGNMENT.search(outside):
        return 'value'
    if '(' not in outside:
        return 'scope' if _SCOPE.search(outside) or not outside.strip() else 'value'
    if _ATTRIBUTED_CLASS.search(outside):
        return 'scope'
    if _CONSTRUCTOR_LIST.search(plain) and re.search(r'[\w>]\s*$', plain):
        return 'value'  # `Foo() : member_{`.
    return 'function'


def _name(head):
    plain = _OPERATOR.sub('operator', _without_template(head))
    match = _NAME.search(plain)
    return re.sub(r'\s', '', match.group(1)) if match else '?'


def _trim_labels(code, start):
    """Moves `start` past blanks and access labels, to where the head of a definition begins."""
    match = re.compile(r'(?:\s|\b(?:public|private|protected)\s*:(?!:))*').match(code, start)
    return match.end()


def find_functions(source):
    """All function definitions of a file, in order."""
    code = without_directives(code_only(source))
    functions = []
    open_scopes, start, offset, head = 0, 0, 0, ''
    while offset < len(code):
        char = code[offset]
        if char == '{':
            kind = _classify(head)
            if kind == 'scope':
                open_scopes += 1
                offset, start, head = offset + 1, offset + 1, ''
                continue
            end = _skip_braces(code, offset)
            if kind == 'function':
                first = line_of(code, _trim_labels(code, start))
                functions.append(Function(_name(head), first, line_of(code, end - 1) - first + 1))
                start, head = end, ''
            else:
                head += '{}'
            offset = end
            continue
        if char == '}':
            open_scopes -= 1
            if open_scopes < 0:
                raise LostTrack(f'line {line_of(code, offset)} closes a brace that was never opened')
        if char in ';}' and head.count('(') <= head.count(')'):
            start, head = offset + 1, ''
        else:
            head += char
        offset += 1
    if open_scopes != 0:
        raise LostTrack(f'{open_scopes} braces are never closed')
    return functions
