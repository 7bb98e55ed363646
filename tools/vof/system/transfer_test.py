# SPDX-License-Identifier: Apache-2.0
"""read, write, copy, verify, flush and discard against a real target.

    transfer_test.py VOF VOF-TARGET
"""

import os
import signal
import subprocess
import time

from tools.vof.system import vof_case
from tools.vof.system.vof_case import MIB, VofTestCase, random_bytes
from tools.vof_target.target_process import TargetProcess


class ReadWriteTest(VofTestCase):
    """Bytes in and out."""

    def test_what_was_written_is_read(self):
        for dialect in ('v5', 'ref'):
            with self.subTest(dialect):
                data = random_bytes(3 * 512, seed=len(dialect))
                self.ok('write', '--quiet', '--offset', '1M', '--dialect', dialect,
                        self.uri('mem'), stdin=data)
                back = self.ok('read', '--offset', '1M', '--length', '1536', '--dialect', dialect,
                               self.uri('mem'))
                self.assertEqual(back, data)

    def test_files_and_json(self):
        data = random_bytes(5 * MIB)
        source = self.path('in', data)
        document = self.json('write', '--input', source, '--offset', '2M', self.uri('mem'))
        self.assertEqual(document['bytes'], 5 * MIB)
        output = self.path('out')
        document = self.json('read', '--offset', '2M', '--length', '5M', '--output', output,
                             self.uri('mem'))
        self.assertEqual(document['destination'], output)
        self.assertEqual(self.content(output), data)

    def test_reads_need_no_alignment(self):
        data = random_bytes(8192)
        self.ok('write', '-q', self.uri('big'), stdin=data)
        back = self.ok('read', '--offset', '777', '--length', '5001', self.uri('big'))
        self.assertEqual(back, data[777:777 + 5001])

    def test_odd_sizes_are_refused_or_padded(self):
        self.assert_fails(vof_case.USAGE,
                          ['write', '--input', self.path('odd', b'x' * 1000), self.uri('big')],
                          '1000', 'block size', '4096', '--pad')
        self.assert_fails(vof_case.USAGE, ['write', self.uri('big')], '1000', 'block size', '4096',
                          '--pad', 'nothing was written', stdin=b'x' * 1000)
        self.assert_fails(vof_case.USAGE, ['write', self.uri('big')], str(MIB + 1000),
                          'block size', 'the first 1048576 bytes (1 MiB) are written',
                          stdin=b'x' * (MIB + 1000))
        self.assert_fails(vof_case.USAGE, ['write', '--offset', '512', self.uri('big')],
                          'offset 512', '4096', stdin=b'x' * 4096)
        self.ok('write', '-q', self.uri('big'), stdin=b'y' * 4096)
        self.ok('write', '-q', '--pad', self.uri('big'), stdin=b'hello')
        self.assertEqual(self.ok('read', '--length', '8', self.uri('big')), b'hello\0\0\0')
        self.assertEqual(self.ok('read', '--length', '4K', self.uri('big'))[5:], bytes(4091))

    def test_a_source_shorter_than_the_length_is_wrong_usage(self):
        short = ['write', '--length', '8K', self.uri('mem')]
        self.assert_fails(vof_case.USAGE, short + ['--input', self.path('in', b'x' * 4096)],
                          '4096 bytes', '8192')
        self.assert_fails(vof_case.USAGE, short, '4096 bytes', '8192', 'were written',
                          stdin=b'x' * 4096)
        with open(self.path('in', b'x' * 4096), 'rb') as file:
            file.seek(512)
            done = subprocess.run([vof_case.VOF] + short, stdin=file, capture_output=True,
                                  timeout=vof_case.TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, vof_case.USAGE, done.stderr)
        self.assertIn(b'there are only 3584 bytes (3.5 KiB) of standard input, not 8192 bytes',
                      done.stderr)
        self.assertNotIn(b'written', done.stderr)
        self.ok('write', '-q', '--length', '4K', self.uri('mem'), stdin=b'y' * 8192)
        self.assertEqual(self.ok('read', '--length', '4097', self.uri('mem'))[4090:], b'y' * 6 + b'\0')

    def test_the_end_of_the_device(self):
        self.assert_fails(vof_case.FAILED,
                          ['write', '--offset', '1M', self.uri('small')], stdin=b'x' * 512)
        self.assert_fails(vof_case.FAILED, ['write', self.uri('small')], 'too small',
                          stdin=b'x' * (MIB + 512))
        never = ['--output', self.path('never'), self.uri('small')]
        self.assert_fails(vof_case.USAGE, ['read', '--offset', '2M'] + never, '1048576')
        self.assert_fails(vof_case.USAGE, ['read', '--length', '2M'] + never, '1048576')
        self.assertFalse(os.path.exists(self.path('never')))
        self.assertEqual(self.ok('read', '--offset', '1M', self.uri('small')), b'')

    def test_read_only_devices_are_not_written(self):
        for verb in (['write', self.uri('fixed')], ['copy', self.path('x', b'x' * 512),
                                                    self.uri('fixed')],
                     ['discard', '--length', '512', self.uri('fixed')]):
            self.assert_fails(vof_case.UNSUPPORTED, verb, 'read-only', stdin=b'x' * 512)

    def test_data_and_json_do_not_share_stdout(self):
        code, out, _ = self.run_vof('read', '--json', self.uri('small'))
        self.assertEqual(code, vof_case.USAGE)
        self.assertIn(b'"usage"', out)

    def test_reader_that_goes_away_ends_the_program(self):
        process = subprocess.Popen([vof_case.VOF, 'read', self.uri('mem')], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.assertEqual(len(process.stdout.read(100)), 100)
        process.stdout.close()
        error = process.stderr.read().decode()
        process.stderr.close()
        self.assertEqual(process.wait(vof_case.TIMEOUT_S), vof_case.FAILED)
        self.assertEqual(error, '')  # as head(1) and its like are used


class CopyTest(VofTestCase):
    """copy and verify."""

    def sparse_file(self, name, size, pieces):
        path = self.path(name)
        with open(path, 'wb') as file:
            file.truncate(size)
            for offset, data in pieces:
                file.seek(offset)
                file.write(data)
        return path

    def test_there_and_back(self):
        data = random_bytes(9 * MIB + 12345)
        source, back = self.path('source', data), self.path('back')
        document = self.json('copy', source, self.uri('mem'))
        self.assertEqual(document['bytes'], len(data))
        self.json('copy', '--length', str(len(data)), self.uri('mem'), back)
        self.assertEqual(self.content(back), data)
        self.ok('verify', '--quiet', '--prefix', source, self.uri('mem'))

    def test_every_odd_size(self):
        for size in (0, 1, 511, 512, 513, MIB - 1, MIB, MIB + 1):
            for disk in ('mem', 'big'):
                with self.subTest(size=size, disk=disk):
                    data = random_bytes(size, seed=size)
                    source, back = self.path('source', data), self.path('back')
                    self.ok('copy', '-q', source, self.uri(disk))
                    self.ok('copy', '-q', '--length', str(size), self.uri(disk), back)
                    self.assertEqual(self.content(back), data)

    def test_holes_stay_holes(self):
        data = random_bytes(65536)
        source = self.sparse_file('sparse', 48 * MIB, [(5 * MIB, data), (40 * MIB, data)])
        self.ok('write', '-q', self.uri('mem'), stdin=b'\xff' * (8 * MIB))  # what a hole must erase
        document = self.json('copy', source, self.uri('mem'))
        self.assertEqual(document['bytes'], 48 * MIB)
        self.assertEqual(document['zero_bytes'], 48 * MIB - 2 * 65536)
        back = self.path('back')
        self.json('copy', self.uri('mem'), back)
        self.assertEqual(os.stat(back).st_size, 64 * MIB)
        self.assertLess(os.stat(back).st_blocks * 512, 2 * MIB)
        self.assertEqual(self.content(back)[:48 * MIB], self.content(source))

    def test_device_to_device(self):
        data = random_bytes(4 * MIB)
        self.ok('write', '-q', '--offset', '3M', self.uri('mem'), stdin=data)
        self.ok('copy', '-q', self.uri('mem', '?queues=4'), self.uri('other', '?dialect=ref'))
        self.ok('verify', self.uri('mem'), self.uri('other'))
        self.assertEqual(self.ok('read', '--offset', '3M', '--length', '4M', self.uri('other')),
                         data)

    def test_one_device_by_two_addresses_is_not_two(self):
        arguments = ['--listen', 'tcp://127.0.0.1:0', '--listen', 'tcp://127.0.0.2:0', '--blk',
                     'name=s,store=memory,size=1M,shared=true']
        with TargetProcess(vof_case.TARGET, arguments, expected_uris=2) as target:
            self.assertNotEqual(*target.uris)
            self.assert_fails(vof_case.USAGE, ['copy', *target.uris], *target.uris,
                              'are the same device: a copy needs two')
            self.assert_fails(vof_case.USAGE, ['verify', *target.uris],
                              'are the same device: a comparison needs two')

    def test_pipes(self):
        data = random_bytes(3 * MIB + 7)
        self.ok('copy', '-q', '-', self.uri('mem'), stdin=data)
        self.assertEqual(self.ok('copy', '--length', str(len(data)), self.uri('mem'), '-'), data)

    def test_too_small_names_both_sizes(self):
        source = self.sparse_file('large', 2 * MIB, [])
        self.assert_fails(vof_case.FAILED, ['copy', source, self.uri('small')], '1048576',
                          '2097152', 'too small')

    def test_something_must_be_a_device(self):
        self.assert_fails(vof_case.USAGE, ['copy', self.path('a', b'x'), self.path('b')], 'URI')

    def test_files_that_are_not_there(self):
        self.assert_fails(vof_case.FAILED, ['copy', self.path('missing'), self.uri('mem')],
                          self.path('missing'), 'No such file')
        self.assert_fails(vof_case.FAILED, ['copy', self.uri('small'), '/nonexistent/x'],
                          '/nonexistent/x')

    def test_full_disk_is_an_error(self):
        self.assert_fails(vof_case.FAILED, ['copy', self.uri('mem'), '/dev/full'], '/dev/full',
                          'No space left')

    def test_verify_says_where(self):
        data = bytearray(random_bytes(2 * MIB))
        self.ok('write', '-q', self.uri('mem'), stdin=bytes(data))
        data[1234567] ^= 1
        self.assert_fails(vof_case.DATA_DIFFER,
                          ['verify', '--prefix', self.path('changed', bytes(data)),
                           self.uri('mem')], '1234567')
        document = self.json_of_failure(vof_case.DATA_DIFFER, 'verify', '--prefix',
                                        self.path('changed'), self.uri('mem'))
        self.assertEqual((document['equal'], document['first_difference']), (False, 1234567))
        document = self.json('verify', '--length', '1M', self.path('changed'), self.uri('mem'))
        self.assertEqual((document['equal'], document['bytes'], document['first_difference']),
                         (True, MIB, None))

    def test_verify_of_different_sizes_compares_what_both_have(self):
        data = bytearray(random_bytes(2 * MIB))
        self.ok('write', '-q', self.uri('mem'), stdin=bytes(data))
        same = self.path('same', bytes(data))
        data[1234567] ^= 1
        changed = self.path('changed', bytes(data))
        empty = self.path('empty', b'')
        for pair in ((same, self.uri('mem')), (self.uri('mem'), same)):
            sizes = [2 * MIB if side == same else 64 * MIB for side in pair]
            self.assert_fails(vof_case.DATA_DIFFER, ['verify', *pair], 'sizes differ', '--prefix',
                              '2097152 bytes', '67108864 bytes', 'is equal')
            document = self.json_of_failure(vof_case.DATA_DIFFER, 'verify', *pair)
            self.assertEqual((document['equal'], document['first_difference'], document['bytes']),
                             (False, 2 * MIB, 2 * MIB))
            self.assertEqual([document['first_bytes'], document['second_bytes']], sizes)
        self.assert_fails(vof_case.DATA_DIFFER, ['verify', changed, self.uri('mem')],
                          'offset 1234567', 'sizes differ', '2097152 bytes', '67108864 bytes')
        for path, offset in ((changed, 1234567), (empty, 0)):
            document = self.json_of_failure(vof_case.DATA_DIFFER, 'verify', path, self.uri('mem'))
            self.assertEqual((document['equal'], document['first_difference']), (False, offset))
        self.ok('verify', '-q', '--prefix', same, self.uri('mem'))

    def test_failed_copy_says_how_much_of_it_is_there(self):
        data = random_bytes(MIB + 512)
        document = self.json_of_failure(vof_case.FAILED, 'copy', '--depth', '4', '-',
                                        self.uri('small'), stdin=data)
        self.assertEqual(document['prefix_bytes'], MIB)
        self.assertIn('the first 1048576 bytes (1 MiB) are written', document['error']['message'])
        self.assertEqual(self.ok('read', self.uri('small')), data[:MIB])

    def test_interrupted_copy_says_how_far_it_came(self):
        process = subprocess.Popen(
            [vof_case.VOF, 'copy', '-', self.uri('mem')], stdin=subprocess.PIPE,
            stderr=subprocess.PIPE)
        process.stdin.write(b'x' * (4 * MIB))
        process.stdin.flush()
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(vof_case.TIMEOUT_S), vof_case.FAILED)
        error = process.stderr.read().decode()
        process.stderr.close()
        process.stdin.close()
        self.assertIn('incomplete', error)


    def test_interrupted_copy_to_a_target_that_hangs(self):
        with self.copy_to_a_target_that_hangs() as process:
            process.send_signal(signal.SIGTERM)
            self.assertIn(b'interrupted, waiting for the answers', process.stderr.readline())
            time.sleep(0.5)  # else it is the same signal
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(vof_case.TIMEOUT_S), vof_case.FAILED)
        process.stdout.close()
        process.stderr.close()
        process.stdin.close()

    def test_a_file_that_a_target_serves_is_not_overwritten(self):
        image = self.path('served')
        with TargetProcess(vof_case.TARGET, ['--listen', 'tcp://127.0.0.1:0', '--blk',
                                             f'name=f,store=file,path={image},size=1M']) as target:
            self.ok('write', '-q', target.uris[0], stdin=b'z' * MIB)
            for arguments in (['copy', target.uris[0], image], ['copy', self.uri('small'), image],
                              ['read', self.uri('small'), '--output', image]):
                self.assert_fails(vof_case.FAILED, arguments, image, 'in use by a target')
            self.assertEqual(self.content(image), b'z' * MIB)
        self.ok('copy', '-q', self.uri('small'), image)

    def test_a_file_that_a_target_writes_is_no_source(self):
        image = self.path('served', b'z' * MIB)
        for read_only in ('false', 'true'):
            with TargetProcess(vof_case.TARGET, [
                    '--listen', 'tcp://127.0.0.1:0', '--blk',
                    f'name=f,store=file,path={image},read_only={read_only}']) as target:
                for arguments, stdin in ((['copy', image, self.uri('mem')], os.devnull),
                                         (['write', '--input', image, self.uri('mem')], os.devnull),
                                         (['write', self.uri('mem')], image),
                                         (['copy', image, target.uris[0]], os.devnull)):
                    if read_only == 'true' and target.uris[0] in arguments:
                        continue
                    with open(stdin, 'rb') as file:
                        done = subprocess.run([vof_case.VOF, *arguments], stdin=file, timeout=60,
                                              capture_output=True, check=False)
                    if read_only == 'true':
                        self.assertEqual(done.returncode, vof_case.OK, done.stderr)
                    else:
                        self.assertEqual(done.returncode, vof_case.FAILED, arguments)
                        self.assertIn(b'may change while it is read', done.stderr)


class FlushDiscardTest(VofTestCase):
    """flush and discard."""

    def test_flush(self):
        self.ok('flush', self.uri('mem'))
        self.assertEqual(self.json('flush', self.uri('mem'))['flushed'], True)

    def test_nothing_is_flushed_without_a_write_cache(self):
        arguments = ['--listen', 'tcp://127.0.0.1:0', '--blk',
                     'name=through,store=memory,size=1M,write_cache=false']
        with TargetProcess(vof_case.TARGET, arguments) as target:
            document = self.json('flush', target.uris[0])
            self.assertEqual((document['flushed'], document['write_cache'],
                              document['write_cache_known']), (False, False, True))
            self.assertIn(b'nothing to flush', self.ok('flush', target.uris[0]))

    def test_discard_and_zero(self):
        for flags in ([], ['--zero']):
            with self.subTest(flags):
                self.ok('write', '-q', self.uri('mem'), stdin=b'z' * (2 * MIB))
                document = self.json('discard', '--offset', '4K', '--length', '1M', *flags,
                                     self.uri('mem'))
                self.assertEqual(document['bytes'], MIB)
                back = self.ok('read', '--length', '2M', self.uri('mem'))
                self.assertEqual(back[:4096], b'z' * 4096)
                self.assertEqual(back[4096:4096 + MIB], bytes(MIB))
                self.assertEqual(back[4096 + MIB:], b'z' * (MIB - 4096))

    def test_discard_of_all_of_it(self):
        self.assertEqual(self.json('discard', '--all', self.uri('mem'))['bytes'], 64 * MIB)

    def test_discard_needs_a_range_that_fits(self):
        self.assert_fails(vof_case.USAGE, ['discard', self.uri('mem')], '--length')
        self.assert_fails(vof_case.USAGE, ['discard', '--all', '--length', '1M', self.uri('mem')],
                          'not both')
        self.assert_fails(vof_case.USAGE, ['discard', '--length', '100', self.uri('mem')],
                          'block size', '512')
        self.assert_fails(vof_case.USAGE, ['discard', '--offset', '64M', '--length', '512',
                                           self.uri('mem')], '67108864')


if __name__ == '__main__':
    vof_case.main()
