# SPDX-License-Identifier: Apache-2.0
"""bench against a real target and in process.

    bench_test.py VOF VOF-TARGET
"""

import json
import os
import signal
import subprocess
import time
import unittest

from tools.vof.system import vof_case
from tools.vof.system.vof_case import VofTestCase

SHORT = ['--ops', '2000', '--time', '60s']


class BenchTest(VofTestCase):
    """Loads, limits, verification, interruption."""

    def bench(self, *arguments):
        """The JSON of a run."""
        return self.json('bench', *arguments)

    def test_every_access_in_both_dialects(self):
        for dialect in ('v5', 'ref'):
            for access in ('read', 'write', 'randread', 'randwrite', 'rw', 'randrw'):
                with self.subTest(access=access, dialect=dialect):
                    result = self.bench('--rw', access, *SHORT, '--dialect', dialect,
                                        self.uri('mem'))
                    self.assertEqual(result['rw'], access)
                    self.assertEqual(result['total']['ops'], 2000)
                    self.assertEqual(result['errors'], 0)
                    self.assertEqual(result['error_samples'], [])
                    self.assertGreater(result['total']['iops'], 0)
                    self.assert_ordered(result['total']['latency_ns'])

    def assert_ordered(self, latency):
        order = ['min', 'p50', 'p90', 'p99', 'p99.9', 'max']
        values = [latency[name] for name in order]
        self.assertEqual(values, sorted(values))
        self.assertGreater(latency['mean'], 0)

    def test_mix(self):
        result = self.bench('--rw', 'randrw', '--mix', '25', *SHORT, self.uri('mem'))
        self.assertAlmostEqual(result['read']['ops'], 500, delta=150)

    def test_queues_blocks_and_depth(self):
        for queues, size, depth in ((4, '4K', 128), (2, '128K', 8), (1, '512', 1)):
            with self.subTest(queues=queues, size=size, depth=depth):
                result = self.bench('--queues', str(queues), '--bs', size, '--depth', str(depth),
                                    *SHORT, self.uri('null'))
                self.assertEqual(result['total']['ops'], 2000)
                self.assertEqual(result['queues'], queues)

    def test_time_and_warm_up(self):
        started = time.monotonic()
        result = self.bench('--time', '500ms', '--warmup', '200ms', self.uri('null'))
        self.assertGreater(time.monotonic() - started, 0.7)
        self.assertAlmostEqual(result['elapsed_s'], 0.5, delta=0.4)
        self.assertGreater(result['read']['ops'], 0)

    def test_verify(self):
        for dialect in ('v5', 'ref'):
            for access in ('write', 'randrw'):
                with self.subTest(access=access, dialect=dialect):
                    result = self.bench('--rw', access, '--verify', '--queues', '2', '--size',
                                        '8M', *SHORT, '--dialect', dialect, self.uri('mem'))
                    self.assertGreater(result['verify']['checked_blocks'], 0)
                    self.assertEqual(result['verify']['mismatches'], 0)

    def test_verify_finds_what_was_lost(self):
        code, out, error = self.run_vof('bench', '--rw', 'write', '--verify', '--size', '8M',
                                        *SHORT, '--json', self.uri('null'))
        self.assertEqual(code, vof_case.DATA_DIFFER, error)
        result = json.loads(out)
        self.assertGreater(result['verify']['mismatches'], 0)
        self.assertIn('no stamp', result['verify']['mismatch_samples'][0])

    def test_wrong_data_end_it_before_its_time(self):
        for access in ('randread', 'read'):
            result = self.json_of_failure(vof_case.DATA_DIFFER, 'bench', '--rw', access, '--verify',
                                          '--time', '1m', '--size', '8M', self.uri('null'))
            self.assertFalse(result['interrupted'])
            self.assertLess(result['elapsed_s'], 30)
            self.assertGreater(result['verify']['mismatches'], 0)

    def test_verify_reads_what_another_run_wrote(self):
        self.bench('--rw', 'write', '--verify', '--size', '4M', '--ops', '1024', '--bs', '4K',
                   self.uri('mem'))
        result = self.bench('--rw', 'randread', '--verify', '--size', '4M', *SHORT,
                            self.uri('mem'))
        self.assertEqual(result['verify']['checked_blocks'], 2000)
        self.ok('write', '-q', '--offset', '1M', self.uri('mem'), stdin=b'!' * 4096)
        code, _, error = self.run_vof('bench', '--rw', 'read', '--verify', '--size', '4M', '--ops',
                                      '1024', '--quiet', self.uri('mem'))
        self.assertEqual(code, vof_case.DATA_DIFFER)
        self.assertIn('1048576', error)

    def test_busy_polling_on_a_cpu(self):
        result = self.bench('--busy-poll', '--cpus', '0', *SHORT, self.uri('mem'))
        self.assertEqual(result['total']['ops'], 2000)
        result = self.bench('--spin-us', '50', *SHORT, self.uri('mem'))
        self.assertEqual(result['total']['ops'], 2000)

    def test_memory_disk_in_process(self):
        for dialect in ('v5', 'ref'):
            result = self.bench('--rw', 'randrw', '--verify', '--size', '4M', *SHORT, '--dialect',
                                dialect, 'loop:///memory')
            self.assertEqual(result['total']['ops'], 2000)
        result = self.bench(*SHORT, '--queues', '2', 'loop:///memory')
        self.assertEqual(result['total']['ops'], 2000)

    def test_writing_says_so_and_text_is_for_people(self):
        code, out, error = self.run_vof('bench', '--rw', 'randwrite', *SHORT, self.uri('mem'))
        self.assertEqual(code, vof_case.OK)
        self.assertIn('overwriting', error)
        for word in (b'IOPS', b'p99.9', b'write'):
            self.assertIn(word, out)

    def test_limits_are_named(self):
        self.assert_fails(vof_case.USAGE, ['bench', '--size', '1G', self.uri('mem')], '67108864')
        memory = os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')
        for size in (memory + 4096, 900 << 50):
            self.assert_fails(vof_case.USAGE, ['bench', '--size', str(size), 'loop:///m'],
                              f'--size {size} ', 'memory', str(memory))
        self.assert_fails(vof_case.USAGE, ['bench', '--cpus', '5-2', self.uri('mem')], '--cpus')
        self.assert_fails(vof_case.USAGE, ['bench', '--cpus', '4095', self.uri('mem')],
                          '--cpus', 'CPU 4095')

    def test_times_and_polling_that_contradict(self):
        self.assert_fails(vof_case.USAGE, ['bench', '--time', '0', self.uri('mem')], '--ops')
        self.assert_fails(vof_case.USAGE, ['bench', '--busy-poll', '--spin-us', '5',
                                           self.uri('mem')], 'choose one')
        result = self.bench('--time', '0', '--ops', '300', self.uri('mem'))
        self.assertEqual((result['total']['ops'], result['interrupted']), (300, False))

    def test_blocks_of_another_size_are_wrong_usage(self):
        self.bench('--rw', 'write', '--verify', '--ops', '256', '--size', '1M', self.uri('mem'))
        for size in ('8K', '1K'):
            document = self.json_of_failure(
                vof_case.USAGE, 'bench', '--rw', 'randread', '--verify', '--time', '1h', '--size',
                '1M', '--bs', size, self.uri('mem'))
            self.assertEqual(list(document), ['error'])
            for part in ('was written with blocks of 4096 bytes', '--bs 4K'):
                self.assertIn(part, document['error']['message'])
        self.bench('--rw', 'read', '--verify', '--ops', '256', '--size', '1M', self.uri('mem'))

    def test_a_depth_above_the_queue_size_is_a_note(self):
        result = self.bench(*SHORT, '--depth', '64', self.uri('mem', '?queue_size=16'))
        self.assertEqual((result['depth'], result['queue_size']), (64, 16))
        self.assertIn('at most 16', result['notes'][0])
        result = self.bench(*SHORT, '--depth', '16', self.uri('mem', '?queue_size=16'))
        self.assertNotIn('notes', result)

    def test_both_ways_to_ask_for_more_queues_than_there_are(self):
        for arguments in (['--queues', '9', self.uri('mem')], [self.uri('mem', '?queues=9')]):
            with self.subTest(arguments):
                result = self.bench(*SHORT, *arguments)
                self.assertEqual((result['queues'], result['total']['ops']), (4, 2000))
                self.assertIn('9 virtqueues are asked for: ', result['notes'][0])
                self.assertIn('has 4, all of them are used', result['notes'][0])
                self.assertNotIn('?', result['notes'][0])

    def test_interrupt_ends_with_figures(self):
        process = subprocess.Popen(
            [vof_case.VOF, 'bench', '--time', '1h', '--json', self.uri('null')],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(3)
        # As timeout(1) does: to the process, and again to its group.
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=vof_case.TIMEOUT_S)
        self.assertEqual((process.returncode, error), (vof_case.FAILED, b''))
        result = json.loads(out)
        self.assertTrue(result['interrupted'])
        self.assertEqual(result['error']['message'], 'interrupted')
        self.assertGreater(result['total']['ops'], 0)


class LostTargetTest(VofTestCase):
    """The target goes away under load."""

    def test_figures_come_and_the_exit_code_tells(self):
        process = subprocess.Popen(
            [vof_case.VOF, 'bench', '--time', '1h', '--json', self.uri('null')],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(3)
        self.target.signal(signal.SIGKILL)
        out, error = process.communicate(timeout=vof_case.TIMEOUT_S)
        self.assertEqual(process.returncode, vof_case.FAILED, error)
        result = json.loads(out)
        self.assertGreater(result['errors'], 0)
        self.assertIn(self.uri('null'), result['error']['message'])
        self.assertGreater(result['total']['ops'], 0)


if __name__ == '__main__':
    vof_case.main()
