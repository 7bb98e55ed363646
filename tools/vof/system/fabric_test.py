# SPDX-License-Identifier: Apache-2.0
"""The programs over each fabric, end to end: copy, verify, bench with checks, in both dialects.

    fabric_test VOF VOF-TARGET LISTEN-URI... [--few LISTEN-URI...]

One target for each URI. What the verbs do in detail is tested over TCP; here it is whether the
fabric carries them: whole disks in and out, every size of request, several queues, errors. Those
behind --few carry whole disks, and that is all: an emulated machine takes seconds to load libfabric
for each program.
"""

import sys
import unittest

# The URIs are not for unittest, whose arguments begin behind the programs.
LISTEN = [uri for uri in sys.argv[3:] if uri != '--few']
FEW = sys.argv[sys.argv.index('--few') + 1:] if '--few' in sys.argv else []
del sys.argv[3:]

from tools.vof.system.vof_case import (CANNOT_CONNECT, DISKS, MIB, REFUSED,  # noqa: E402
                                       VofTestCase, random_bytes)

DIALECTS = ['v5', 'ref']


class CarriesDisksTest:
    """A subclass says over which fabric."""

    # Adapters pin it, an emulated one slowly.
    target_flags = ['--pool-size', '16M']
    sizes = [('4k', 32), ('1M', 2)]

    def with_dialect(self, name, dialect, more=''):
        base = self.uris[name]
        return f'{base}{"&" if "?" in base else "?"}dialect={dialect}{more}'

    @classmethod
    def names_of(cls):
        for uri in cls.target.uris:
            path = uri.split('?')[0]
            yield path.rsplit('/', 1)[1], uri

    def test_a_file_goes_in_and_comes_out(self):
        for seed, dialect in enumerate(DIALECTS):
            content = random_bytes(MIB + 512 * 7, seed)
            source, back = self.path('in', content), self.path('out')
            uri = self.with_dialect('other', dialect)
            self.ok('copy', source, uri)
            self.ok('verify', '--prefix', source, uri)
            self.ok('read', '--length', str(len(content)), '--output', back, uri)
            self.assertEqual(self.content(back), content)

    def test_bench_finds_every_block_as_written(self):
        for dialect in DIALECTS:
            for size, depth in self.sizes:
                uri = self.with_dialect('mem', dialect, '&queues=2')
                done = self.json('bench', uri, '--rw', 'randrw', '--verify', '--bs', size,
                                 '--depth', str(depth), '--ops', '100', '--queues', '2')
                self.assertNotIn('error', done)


class FabricTest(CarriesDisksTest):
    """All that there is."""

    sizes = [('512', 4), ('4k', 32), ('8k', 8), ('128k', 4), ('1M', 2)]

    def test_printed_uris_work_as_they_are(self):
        for name in DISKS:
            info = self.json('info', self.uris[name])
            self.assertEqual(info['dialect'], 'v5', name)

    def test_blocks_of_4096_and_small_queues(self):
        for dialect in DIALECTS:
            uri = self.with_dialect('big', dialect, '&queue_size=1')
            self.json('bench', uri, '--rw', 'randrw', '--verify', '--bs', '4k', '--depth', '4',
                      '--ops', '100')

    def test_from_device_to_device(self):
        content = random_bytes(MIB, 9)
        self.ok('copy', self.path('in', content), self.with_dialect('other', 'v5'))
        self.ok('copy', '--length', str(len(content)), self.with_dialect('other', 'v5'),
                self.with_dialect('mem', 'ref'))
        self.ok('verify', '--prefix', self.path('in'), self.with_dialect('mem', 'v5'))

    def test_the_other_verbs(self):
        uri = self.uris['other']
        self.ok('write', uri, stdin=random_bytes(4096))
        self.ok('flush', uri)
        self.ok('discard', '--zero', '--length', '4096', uri)
        self.assertEqual(self.ok('read', '--length', '4096', uri), bytes(4096))
        self.assertGreater(self.json('ping', '--count', '3', uri)['count'], 0)

    def test_errors_keep_their_kind(self):
        missing = self.uris['mem'].replace('/mem', '/nobody')
        self.assert_fails(REFUSED, ['info', missing], 'nobody')

    def test_a_target_that_ended_cannot_be_reached(self):
        uri = self.uris['mem']
        self.target.stop()
        try:
            code, _, _ = self.run_vof('info', uri)
            self.assertEqual(code, CANNOT_CONNECT)
        finally:
            self.setUpClass()


def case_of(listen):
    class Case(CarriesDisksTest if listen in FEW else FabricTest, VofTestCase):
        @classmethod
        def setUpClass(cls):
            super().setUpClass()
            cls.uris = dict(cls.names_of())

    Case.listen = listen
    Case.__name__ = Case.__qualname__ = 'Over_' + ''.join(c if c.isalnum() else '_' for c in listen)
    return Case


for listen_uri in LISTEN:
    made = case_of(listen_uri)
    globals()[made.__name__] = made
del made, VofTestCase  # not a test by itself

if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
