# SPDX-License-Identifier: Apache-2.0
"""What every rule reports."""

from typing import NamedTuple


class Violation(NamedTuple):
    """One broken rule: the file's path from the root of the tree, a line counted from 1."""

    path: str
    line: int
    rule: str
    message: str

    def __str__(self):
        return f'{self.path}:{self.line}: [{self.rule}] {self.message}'
