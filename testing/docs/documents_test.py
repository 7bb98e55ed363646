# SPDX-License-Identifier: Apache-2.0
"""What README and docs say is run: every command of our programs, every link."""

import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

from testing.docs import documents
from tools.vof_target.target_process import TargetProcess

VOF, VOF_TARGET = (os.path.abspath(path) for path in sys.argv[1:3])
ROOT = os.getcwd()
DISK_BYTES = 64 << 20
TIME_LIMIT_S = 120


def read(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as page:
        return page.read()


class DocumentsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        with open(os.path.join(self.folder, 'image.raw'), 'wb') as image:
            image.write(os.urandom(1 << 20))
            image.truncate(3 << 20)

    def run_client_commands(self, path, host):
        commands = [c for c in documents.shell_commands(read(path)) if c.startswith('vof ')]
        self.assertGreater(len(commands), 2, 'no commands found: has the page changed its form?')
        disks = ['--blk', f'name=disk0,store=memory,size={DISK_BYTES}']
        with TargetProcess(VOF_TARGET, ['--listen', 'tcp://127.0.0.1:0'] + disks) as target:
            for command in commands:
                words = shlex.split(command.replace(f'tcp://{host}/disk0', target.uris[0]))
                words[0] = VOF
                if '--time' in words:
                    words[words.index('--time') + 1] = '200ms'
                elif words[1] == 'bench':
                    words += ['--time', '200ms']
                done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True,
                                      timeout=TIME_LIMIT_S)
                self.assertEqual(done.returncode, 0, f'{command}\n{done.stderr}')

    def test_commands_of_the_readme(self):
        self.run_client_commands('README.md', '192.0.2.7')

    def test_commands_of_the_page_on_vof(self):
        self.run_client_commands('docs/cli.md', 'storage')

    def test_keys_of_uris_are_those_of_the_program(self):
        rows = documents.table_rows(read('docs/cli.md'), 'key')
        self.assertEqual(len(rows), 9)
        text = subprocess.run([VOF, '--help'], capture_output=True, text=True).stdout
        keys = text[text.index('URI keys'):text.index('Exit codes')]
        told = re.findall(r'^  (\w+) +(.+)\n +(.+) \(default: (.+)\)$', keys, re.MULTILINE)
        # A build without libfabric has no key for it.
        names = [key[0] for key in told]
        self.assertGreaterEqual(len(names), 8)
        self.assertEqual([[cell.strip('`') for cell in row] for row in rows
                          if row[0].strip('`') in names], [list(key) for key in told])
        for page in ('README.md', 'docs/cli.md'):
            for key, _, _, _ in told:
                self.assertIn(f'`{key}`', read(page))

    def test_sizes_are_told_as_the_program_tells_them(self):
        text = subprocess.run([VOF, '--help'], capture_output=True, text=True).stdout
        told = re.search(r'^A size is (.+);$', text, re.MULTILINE)
        self.assertIsNotNone(told, text)
        self.assertIn(f'A size is {told.group(1)}.', ' '.join(read('docs/cli.md').split()))

    def test_targets_of_the_readme(self):
        commands = [c for c in documents.shell_commands(read('README.md'))
                    if c.startswith('vof-target ')]
        self.assertTrue(commands)
        for command in commands:
            command = command.replace('tcp://0.0.0.0:8549', 'tcp://127.0.0.1:0')
            command = re.sub(r'path=[^,]*/', f'path={self.folder}/', command)
            with TargetProcess(VOF_TARGET, shlex.split(command)[1:]) as target:
                self.assertTrue(target.uris[0].endswith('/disk0'))

    def test_links_lead_somewhere(self):
        pages = ['README.md'] + [os.path.relpath(p, ROOT)
                                 for p in glob.glob(os.path.join(ROOT, 'docs', '*.md'))]
        self.assertGreater(len(pages), 4)
        for page in pages:
            for target in documents.links(read(page)):
                path = os.path.join(ROOT, os.path.dirname(page), target)
                self.assertTrue(os.path.exists(path), f'{page} links to {target}')


class ParserTest(unittest.TestCase):
    def test_commands_are_found_in_both_kinds_of_blocks(self):
        page = 'vof no\n\n    vof a  # why\n\n```sh\nvof b\nls\n```\n```cpp\nvof c\n```\n'
        self.assertEqual(documents.shell_commands(page), ['vof a', 'vof b'])

    def test_tables_are_found_by_their_heading(self):
        page = '| a | b |\n|---|---|\n| 1 | 2 |\n\n| key | c |\n|---|---|\n| 3 | 4 |\n| 5 | 6 |\nx\n'
        self.assertEqual(documents.table_rows(page, 'key'), [['3', '4'], ['5', '6']])

    def test_only_local_links_are_kept(self):
        page = '[a](docs/a.md#x) [b](https://b) [c](#d)'
        self.assertEqual(documents.links(page), ['docs/a.md'])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
