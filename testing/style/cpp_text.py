# SPDX-License-Identifier: Apache-2.0
"""C++ source with everything blanked that is not code, so that simple searches do not lie.

    code = code_only('int x;  // strcpy(a, b)\n')    # 'int x;                  \n'

Comments and the contents of string and character literals become spaces. Line breaks stay, so line
numbers are those of the file.
"""

import re

_TOKEN = re.compile(
    r'''
      (?P<line_comment>//(?:\\\n|[^\n])*)
    | (?P<block_comment>/\*.*?\*/)
    | (?P<raw>R"(?P<delimiter>[^()\\\s]*)\(.*?\)(?P=delimiter)")
    | (?P<string>"(?:\\.|[^"\\\n])*")
    | (?P<number>\b\d[\w.']*)
    | (?P<char>'(?:\\.|[^'\\\n])+')
    ''', re.VERBOSE | re.DOTALL)

_DIRECTIVE = re.compile(r'^[ \t]*#(?:\\\n|[^\n])*', re.MULTILINE)
_CONDITIONAL = re.compile(r'^[ \t]*#[ \t]*(ifdef|ifndef|if|elif|else|endif)\b')


def _blank(text):
    return re.sub(r'[^\n]', ' ', text)


def _blank_token(match):
    text = match.group(0)
    if match.lastgroup == 'number':
        return text  # Only matched so that the ' of 1'000 does not open a character.
    if match.lastgroup in ('string', 'char'):
        return text[0] + ' ' * (len(text) - 2) + text[-1]
    return _blank(text)


def code_only(source):
    """Blanks comments and the contents of literals."""
    return _TOKEN.sub(_blank_token, source)


def without_directives(code):
    """Blanks preprocessor lines, and all branches but the first of each #if, so that braces pair."""
    lines = []
    skipping = []  # One entry for each open #if: is its present branch left out?
    for line in re.split(r'(?<!\\)\n', code):
        conditional = _CONDITIONAL.match(line)
        word = conditional.group(1) if conditional else ''
        if word.startswith('if'):
            skipping.append(False)
        elif word in ('elif', 'else') and skipping:
            skipping[-1] = True
        elif word == 'endif' and skipping:
            skipping.pop()
        lines.append(_blank(line) if any(skipping) else line)
    return _DIRECTIVE.sub(lambda match: _blank(match.group(0)), '\n'.join(lines))


def line_of(text, offset):
    """The line, counted from 1, of a character."""
    return text.count('\n', 0, offset) + 1
