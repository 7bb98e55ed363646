# SPDX-License-Identifier: Apache-2.0
"""SIGINT and SIGTERM at any time: one line or one document, and exit code 1.

    interrupt_test.py VOF VOF-TARGET
"""

import json
import os
import signal
import socket
import subprocess
import time

from tools.vof.system import vof_case
from tools.vof.system.vof_case import MIB, VofTestCase
from tools.vof_target.target_process import TargetProcess

VERBS = {
    'info': [], 'ping': [], 'flush': [], 'read': ['--output', '/dev/null'],
    'write': ['--input', '/dev/null'], 'discard': ['--all'], 'bench': [],
}
PIECE = 256 * MIB  # of a discard
FILLED = 2048 * MIB  # of a memory disk: takes longer than an interrupt


class InterruptTest(VofTestCase):
    """Every verb, in every phase."""

    def start(self, *arguments, stdin=subprocess.DEVNULL):
        process = subprocess.Popen([vof_case.VOF, *arguments], stdin=stdin, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        return process

    def interrupted(self, process):
        """The outcome of an interrupted process: its stdout and stderr."""
        out, error = process.communicate(timeout=vof_case.TIMEOUT_S)
        self.assertEqual(process.returncode, vof_case.FAILED, (out, error))
        return out, error.decode()

    def check_while_connecting(self, arguments, accepted):
        for which in (signal.SIGINT, signal.SIGTERM):
            for flags in ([], ['--json']):
                with self.subTest(arguments, flags=flags, which=which):
                    process = self.start(*arguments, *flags)
                    peer, _ = accepted()
                    peer.recv(1)
                    process.send_signal(which)
                    out, error = self.interrupted(process)
                    peer.close()
                    if flags:
                        self.assertEqual(error, '')
                        document = json.loads(out)
                        self.assertEqual(list(document), ['error'])
                        self.assertEqual(document['error'], {'code': 1, 'kind': 'failed',
                                                             'message': 'interrupted'})
                    else:
                        self.assertEqual((out, error),
                                         (b'', f'vof {arguments[0]}: error: interrupted\n'))

    def test_while_connecting(self):
        with socket.socket() as sock:
            sock.bind(('127.0.0.1', 0))
            sock.listen()
            uri = f'tcp://127.0.0.1:{sock.getsockname()[1]}/disk'
            for verb, arguments in VERBS.items():
                self.check_while_connecting([verb, uri, *arguments], sock.accept)
            image = self.path('image', b'x' * 512)
            self.check_while_connecting(['copy', image, uri], sock.accept)
            self.check_while_connecting(['verify', image, uri], sock.accept)

    def test_ping_tells_what_it_has(self):
        for flags in ([], ['--json']):
            process = self.start('ping', '--interval', '1h', self.uri('mem'), *flags)
            if flags:
                time.sleep(2)
            else:
                self.assertIn(b'answer from', process.stdout.readline())
                time.sleep(0.5)  # until it waits for the next round
            process.send_signal(signal.SIGINT)
            out, error = self.interrupted(process)
            if flags:
                document = json.loads(out)
                self.assertEqual((document['count'], document['error']['message']),
                                 (1, 'interrupted'))
            else:
                self.assertIn(b'1 answer,', out)
                self.assertEqual(error, 'vof ping: error: interrupted\n')

    def memory_of(self, process):
        with open(f'/proc/{process.pid}/statm', encoding='ascii') as statm:
            return int(statm.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')

    def test_bench_ends_while_it_fills_its_disk(self):
        if os.sysconf('SC_AVPHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') < 2 * FILLED:
            self.skipTest('too little memory is free')
        process = self.start('bench', '--size', str(FILLED), 'loop:///memory')
        while self.memory_of(process) < 256 * MIB:
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        most = 0
        while process.poll() is None:
            most = max(most, self.memory_of(process))
        out, error = self.interrupted(process)
        self.assertEqual((out, error), (b'', 'vof bench: error: interrupted\n'))
        self.assertLess(most, FILLED // 2)

    def test_discard_stops_between_pieces(self):
        arguments = ['--listen', 'tcp://127.0.0.1:0', '--blk', 'name=n,store=null,size=4P']
        with TargetProcess(vof_case.TARGET, arguments) as target:
            for flags in ([], ['--zero']):
                process = self.start('discard', '--all', '--json', *flags, target.uris[0])
                time.sleep(2)
                process.send_signal(signal.SIGINT)
                out, _ = self.interrupted(process)
                document = json.loads(out)
                self.assertGreater(document['bytes'], 0)
                self.assertEqual(document['bytes'] % PIECE, 0)
                self.assertLess(document['bytes'], 4 << 50)
                self.assertIn('interrupted', document['error']['message'])

    def test_part_of_a_copy_does_not_look_like_all_of_it(self):
        arguments = ['--listen', 'tcp://127.0.0.1:0', '--blk', 'name=n,store=null,size=1T']
        with TargetProcess(vof_case.TARGET, arguments) as target:
            for verb in (['copy', target.uris[0]], ['read', target.uris[0], '--output']):
                for which in (signal.SIGINT, signal.SIGKILL):
                    output = self.path('out', b'x' * MIB)
                    process = self.start(*verb, output)
                    time.sleep(2)
                    process.send_signal(which)
                    _, error = process.communicate(timeout=vof_case.TIMEOUT_S)
                    self.assertLess(os.stat(output).st_size, 1 << 40)
                    if which == signal.SIGINT:
                        self.assertEqual(process.returncode, vof_case.FAILED, error)
                        self.assertIn(f'{output} is incomplete: it was cut', error.decode())

    def test_verify_says_how_far_it_came(self):
        arguments = ['--listen', 'tcp://127.0.0.1:0']
        for name in 'ab':
            arguments += ['--blk', f'name={name},store=null,size=4P']
        with TargetProcess(vof_case.TARGET, arguments, expected_uris=2) as target:
            for flags in ([], ['--json']):
                process = self.start('verify', *target.uris, *flags)
                time.sleep(2)
                process.send_signal(signal.SIGINT)
                out, error = self.interrupted(process)
                text = json.loads(out)['error']['message'] if flags else error
                self.assertRegex(text, r'interrupted; the first [1-9][0-9]* bytes \(.*\) are equal')
                if flags:
                    document = json.loads(out)
                    self.assertGreater(document['prefix_bytes'], 0)
                    self.assertLessEqual(document['prefix_bytes'], document['bytes'])
                    self.assertEqual((document['equal'], document['first_difference']),
                                     (None, None))

    def test_the_second_one_has_its_document_too(self):
        with self.copy_to_a_target_that_hangs('--json') as process:
            process.send_signal(signal.SIGINT)
            time.sleep(1)
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            process.wait(vof_case.TIMEOUT_S)
        out, error = self.interrupted(process)
        self.assertEqual(error, '')
        document = json.loads(out)
        self.assertEqual(document['error']['message'], 'interrupted')
        self.assertIn('waiting for the answers', document['notes'][0])

    def test_bench_with_a_target_that_hangs_says_so_and_has_its_figures(self):
        for flags in ([], ['--json']):
            process = self.start('bench', '--time', '1h', '--depth', '5', *flags, self.uri('null'))
            time.sleep(2)
            self.target.signal(signal.SIGSTOP)
            try:
                time.sleep(0.5)
                process.send_signal(signal.SIGTERM)
                time.sleep(1)
                self.assertIsNone(process.poll())
                process.send_signal(signal.SIGTERM)
                out, error = self.interrupted(process)
            finally:
                self.target.signal(signal.SIGCONT)
            note = 'interrupted, waiting for the answers to 5 requests; once more ends at once'
            if flags:
                document = json.loads(out)
                self.assertEqual((document['notes'], error), ([note], ''))
                self.assertEqual(document['error']['message'], 'interrupted')
                self.assertTrue(document['interrupted'])
                self.assertGreater(document['total']['ops'], 0)
            else:
                self.assertEqual(error, f'vof bench: {note}\nvof bench: error: interrupted\n')
                self.assertIn(b'(interrupted)', out)
                self.assertIn(b'IOPS', out)

    def test_data_that_nobody_reads_are_told(self):
        for verb in (['read', self.uri('null')], ['copy', self.uri('null'), '-']):
            process = self.start(*verb)
            time.sleep(2)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.stderr.readline().decode(), f'vof {verb[0]}: interrupted, waiting '
                             'for the reader of standard output; once more ends at once\n')
            time.sleep(0.5)  # else it is the same signal
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(vof_case.TIMEOUT_S), vof_case.FAILED)
            self.assertEqual(process.stderr.readline().decode(), f'vof {verb[0]}: error: interrupted\n')
            process.stdout.close()
            process.stderr.close()

    def test_a_reader_that_stands_still_does_not_keep_it(self):
        read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        while True:
            try:
                os.write(write_end, b'x' * 4096)
            except BlockingIOError:
                break
        os.set_blocking(write_end, True)
        process = subprocess.Popen([vof_case.VOF, 'info', '--json', self.uri('mem')],
                                   stdout=write_end, stderr=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(vof_case.TIMEOUT_S), vof_case.FAILED)
        os.close(read_end)
        os.close(write_end)


if __name__ == '__main__':
    vof_case.main()
