# SPDX-License-Identifier: Apache-2.0
"""What a test wants from a Markdown page: its shell commands and its links.

    for command in shell_commands(page): ...     # 'vof info tcp://storage/disk0'
    for target in links(page): ...               # 'docs/cli.md'
"""

import re

PROGRAMS = ('vof ', 'vof-target ')


def shell_commands(page):
    """Commands of our programs, one a line, from fenced or indented blocks, without comments."""
    commands = []
    fence = None
    for line in page.splitlines():
        if line.startswith('```'):
            fence = None if fence is not None else line[3:].strip()
            continue
        in_block = fence in ('sh', '') if fence is not None else line.startswith('    ')
        text = re.sub(r'\s+#.*$', '', line.strip())
        if in_block and text.startswith(PROGRAMS):
            commands.append(text)
    return commands


def links(page):
    """Targets of links inside the repository, without anchors."""
    found = re.findall(r'\]\(([^)\s]+)\)', page)
    return [target.split('#')[0] for target in found
            if '://' not in target and not target.startswith('#')]


def table_rows(page, heading):
    """The cells of each row of the table whose first row begins with `heading`."""
    rows = []
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip('|').split('|')] if line[:1] == '|' else []
        if cells and (rows or cells[0] == heading):
            rows.append(cells)
        elif rows:
            break
    return rows[2:]
