# SPDX-License-Identifier: Apache-2.0
"""info, ping, and everything that can go wrong before a device answers; help and usage.

    session_test.py VOF VOF-TARGET
"""

import json
import os
import socket
import subprocess
import unittest

from tools.vof.system import vof_case
from tools.vof.system.vof_case import MIB, VofTestCase
from tools.vof_target.target_process import TargetProcess

VERBS = ['info', 'ping', 'read', 'write', 'copy', 'verify', 'flush', 'discard', 'bench']


class InfoTest(VofTestCase):
    """info and ping."""

    def test_both_dialects_tell_the_same_disk(self):
        for dialect in ('v5', 'ref'):
            with self.subTest(dialect):
                info = self.json('info', '--dialect', dialect, self.uri('mem'))
                self.assertEqual(info['dialect'], dialect)
                self.assertEqual(info['capacity_bytes'], 64 * MIB)
                self.assertEqual(info['block_bytes'], 512)
                self.assertEqual(info['type'], 'block')
                self.assertEqual(info['vendor'], 'vof')
                self.assertEqual(info['queues']['available'], 4)
                self.assertEqual(len(info['queues']['sizes']), 1)
                self.assertIn('FLUSH', info['features']['accepted'])
                self.assertFalse(info['read_only'])
                self.assertGreaterEqual(info['limits']['max_transfer_bytes'], 128 << 10)
                self.assertIn('127.0.0.1:', info['address'])
                # A string: numbers of JSON are not exact beyond 2^53.
                self.assertRegex(str(info['epoch']), r'^[0-9]+$' if dialect == 'v5' else '^None$')
                self.assertNotIsInstance(info['epoch'], int)

    def test_what_differs_shows(self):
        self.assertTrue(self.json('info', self.uri('fixed'))['read_only'])
        self.assertEqual(self.json('info', self.uri('big'))['block_bytes'], 4096)
        queues = self.json('info', self.uri('mem', '?queues=3&queue_size=64'))['queues']
        self.assertEqual(queues['sizes'], [64, 64, 64])

    def test_a_write_cache_that_nobody_tells_of(self):
        for disk, known in (('mem', True), ('fixed', False)):
            info = self.json('info', self.uri(disk))
            self.assertEqual((info['write_cache'], info['write_cache_known']), (True, known))
            flushed = self.json('flush', self.uri(disk))
            self.assertEqual((flushed['write_cache'], flushed['write_cache_known']), (True, known))
            text = self.ok('info', self.uri(disk)).decode()
            self.assertEqual('taken for on, since the device does not tell' in text, not known)

    def test_the_largest_transfer_is_what_may_be_sent(self):
        for dialect, size in (('v5', 4 * MIB), ('ref', MIB)):
            limits = self.json('info', '--dialect', dialect, self.uri('mem'))['limits']
            self.assertEqual(limits['max_transfer_bytes'], size)
            self.assertEqual((limits['max_out_bytes'], limits['max_in_bytes']),
                             (size + 16, size + 1))
            text = self.ok('info', '--dialect', dialect, self.uri('mem')).decode()
            self.assertIn(f'{size} bytes) of data in one request', text)
            bench = ['bench', '--ops', '4', '--depth', '1', '--quiet', '--dialect', dialect]
            self.ok(*bench, '--bs', str(size), self.uri('mem'))
            self.assert_fails(vof_case.USAGE, bench + ['--bs', str(2 * size), self.uri('mem')],
                              str(size))

    def test_more_queues_than_there_are_is_a_note(self):
        wide = self.uri('mem', '?queues=256')
        info = self.json('info', wide)
        self.assertEqual(len(info['queues']['sizes']), 4)
        self.assertEqual(len(info['notes']), 1)
        for part in ('256', 'has 4', 'all of them are used'):
            self.assertIn(part, info['notes'][0])
        for verb in (['info'], ['read', '--length', '512'], ['ping', '-c', '1'],
                     ['bench', '--ops', '100']):
            code, _, error = self.run_vof(*verb, wide)
            self.assertEqual((code, error), (vof_case.OK, f'vof {verb[0]}: {info["notes"][0]}\n'))
        self.assertNotIn('notes', self.json('info', self.uri('mem', '?queues=4')))
        self.assertNotIn('notes', self.json('info', '--quiet', wide))

    def test_larger_queues_than_are_offered_are_a_note(self):
        info = self.json('info', self.uri('mem', '?queue_size=2000'))
        self.assertEqual(info['queues']['sizes'], [1024])
        self.assertEqual(len(info['notes']), 1)
        for part in ('2000', 'offers 1024'):
            self.assertIn(part, info['notes'][0])
        self.assertNotIn('notes', self.json('info', self.uri('mem', '?queue_size=1024')))

    def test_lists_are_lists_when_empty(self):
        out = self.ok('info', '--json', '--dialect', 'ref', self.uri('mem'))
        self.assertIn(b'"transport":[]', out)

    def test_text_is_for_people(self):
        out = self.ok('info', self.uri('mem')).decode()
        self.assertIn('64 MiB (67108864 bytes)', out)
        self.assertEqual(self.ok('info', '--quiet', self.uri('mem')), b'')

    def test_nobody_who_reads_is_no_complaint(self):
        for arguments in (['info', self.uri('mem')], ['info', '--json', self.uri('mem')],
                          ['ping', '-c', '3', '--interval', '1ms', self.uri('mem')], ['--help']):
            with self.subTest(arguments):
                read_end, write_end = os.pipe()
                os.close(read_end)
                done = subprocess.run([vof_case.VOF] + arguments, stdout=write_end,
                                      stderr=subprocess.PIPE, timeout=vof_case.TIMEOUT_S)
                os.close(write_end)
                self.assertEqual((done.returncode, done.stderr), (vof_case.FAILED, b''))

    def test_ping(self):
        for dialect in ('v5', 'ref'):
            with self.subTest(dialect):
                ping = self.json('ping', '--count', '5', '--interval', '1ms', '--dialect', dialect,
                                 self.uri('mem'))
                self.assertEqual(ping['count'], 5)
                self.assertEqual(len(ping['times_ns']), 5)
                rtt = ping['rtt_ns']
                self.assertLessEqual(rtt['min'], rtt['avg'])
                self.assertLessEqual(rtt['avg'], rtt['max'])
                self.assertGreater(rtt['min'], 0)
        out = self.ok('ping', '-c', '2', '--interval', '1ms', self.uri('mem')).decode()
        self.assertEqual(len(out.splitlines()), 3)


class Ipv6Test(VofTestCase):
    """Brackets in URIs."""

    listen = 'tcp://[::1]:0'

    def test_device_behind_an_ipv6_address(self):
        self.assertTrue(self.uri('mem').startswith('tcp://[::1]:'), self.uri('mem'))
        self.assertEqual(self.json('info', self.uri('mem'))['capacity_bytes'], 64 * MIB)
        long_form = self.uri('mem').replace('[::1]', '[0:0:0:0:0:0:0:1]')
        self.assertEqual(self.json('info', long_form)['capacity_bytes'], 64 * MIB)


def scoped_address():
    """A link-local address of this host with its interface; else the loopback with its number."""
    with open('/proc/net/if_inet6', encoding='ascii') as interfaces:
        for line in interfaces:
            digits, _, _, scope, _, name = line.split()
            if int(scope, 16) == 0x20:
                groups = [digits[at:at + 4] for at in range(0, len(digits), 4)]
                return f'{":".join(groups)}%{name}'
    return '::1%1'


class ScopedIpv6Test(VofTestCase):
    """Addresses that mean something on one interface only (field failure 25)."""

    listen = f'tcp://[{scoped_address()}]:0'

    def test_the_printed_uri_is_used_as_it_is(self):
        self.assertEqual(self.json('info', self.uri('mem'))['capacity_bytes'], 64 * MIB)
        self.ok('write', '-q', self.uri('mem', '?queues=2'), stdin=b'x' * 4096)
        self.assertEqual(self.ok('read', '--length', '4096', self.uri('mem')), b'x' * 4096)

    def test_both_ways_to_write_a_scope(self):
        uri = self.uri('mem')
        plain = uri.replace('%25', '%')
        escaped = plain.replace('%', '%25')
        for text in (plain, escaped):
            self.assertEqual(self.json('info', text)['type'], 'block', text)

    def test_an_interface_that_is_not_there_is_named(self):
        uri = f'tcp://[fe80::1%nosuch0]:{self.uri("mem").rsplit(":", 1)[1]}'
        self.assert_fails(vof_case.CANNOT_CONNECT, ['info', uri], 'nosuch0')


class FailureTest(VofTestCase):
    """Each kind of failure, its exit code and its message."""

    def free_port(self):
        with socket.socket() as sock:
            sock.bind(('127.0.0.1', 0))
            return sock.getsockname()[1]

    def test_nobody_listens(self):
        uri = f'tcp://127.0.0.1:{self.free_port()}/disk'
        for verb in ('info', 'ping', 'flush', 'bench'):
            with self.subTest(verb):
                self.assert_fails(vof_case.CANNOT_CONNECT, [verb, uri], '127.0.0.1')

    def test_loop_lives_in_one_process(self):
        for verb in (['info'], ['ping'], ['flush'], ['verify', self.uri('mem')]):
            with self.subTest(verb):
                self.assert_fails(vof_case.CANNOT_CONNECT, verb + ['loop:///x'], 'one process',
                                  'only bench', 'vof bench loop:///')

    def test_name_that_does_not_resolve(self):
        self.assert_fails(vof_case.CANNOT_CONNECT, ['info', 'tcp://no-such-host.invalid/disk'],
                          'no-such-host.invalid')

    def test_unknown_device(self):
        unknown = self.uri('mem').replace('/mem', '/nothing')
        for dialect in ('v5', 'ref'):
            self.assert_fails(vof_case.REFUSED, ['info', '--dialect', dialect, unknown], 'nothing')

    def test_device_in_exclusive_use(self):
        holder = subprocess.Popen(
            [vof_case.VOF, 'ping', '--count', '1000000', '--interval', '100ms', self.uri('mem')],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            self.assertIn(b'answer', holder.stdout.readline())
            for verb in ('info', 'ping', 'flush'):  # the message says what to do about it
                self.assert_fails(vof_case.REFUSED,
                                  [verb, '--ivqn', 'another', self.uri('mem')], 'in use',
                                  'end the other', 'shared=true', self.uri('mem'))
        finally:
            holder.terminate()
            out, _ = holder.communicate(timeout=vof_case.TIMEOUT_S)
        self.assertEqual(holder.returncode, vof_case.FAILED)  # interrupted
        self.assertIn(b'min/avg/max', out)
        self.ok('info', self.uri('mem'))

    def test_ping_tells_at_once_that_the_target_went(self):
        with TargetProcess(vof_case.TARGET, ['--listen', 'tcp://127.0.0.1:0', '--blk',
                                             'name=m,store=memory,size=1M']) as target:
            process = subprocess.Popen([vof_case.VOF, 'ping', '--interval', '1h', target.uris[0]],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertIn(b'answer', process.stdout.readline())
            target.stop()
            _, error = process.communicate(timeout=vof_case.TIMEOUT_S)
        self.assertEqual(process.returncode, vof_case.FAILED, error)
        self.assertIn(b'the target closed the connection', error)

    def test_limits_are_never_0(self):
        with socket.socket() as sock:
            sock.bind(('127.0.0.1', 0))
            sock.listen()
            uri = f'tcp://127.0.0.1:{sock.getsockname()[1]}/disk?connect_timeout=1ms'
            _, _, error = self.run_vof('info', uri)
            self.assertNotIn('within 0', error)

    def test_listener_that_never_answers(self):
        with socket.socket() as sock:
            sock.bind(('127.0.0.1', 0))
            sock.listen()
            uri = f'tcp://127.0.0.1:{sock.getsockname()[1]}/disk'
            self.assert_fails(vof_case.CANNOT_CONNECT, ['info', '--timeout', '3s', uri],
                              'what listens at 127.0.0.1:', 'may be no vof target')
            self.assert_fails(vof_case.CANNOT_CONNECT, ['info', uri + '?connect_timeout=300ms'])

    def test_services_that_are_no_targets(self):
        greetings = {'ssh': b'SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n' * 4,
                     'http': b'HTTP/1.1 400 Bad Request\r\nServer: nginx\r\n\r\n'}
        for dialect in ('v5', 'ref'):
            for name, greeting in greetings.items():
                with self.subTest(name, dialect=dialect):
                    self.check_no_target(dialect, greeting)
            with self.subTest('closes', dialect=dialect):
                self.check_no_target(dialect, b'')
        # MySQL: zeros where a target has the number of the command, which is 0.
        self.check_no_target('v5', b'\x4a\0\0\0\n8.0.36\0' + bytes(60))

    def check_no_target(self, dialect, greeting):
        with socket.socket() as sock:
            sock.bind(('127.0.0.1', 0))
            sock.listen()
            uri = f'tcp://127.0.0.1:{sock.getsockname()[1]}/disk'
            process = subprocess.Popen([vof_case.VOF, 'info', '--dialect', dialect, uri],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            peer, _ = sock.accept()
            place = f'127.0.0.1:{sock.getsockname()[1]}'
            if not greeting.startswith(b'SSH'):
                peer.recv(1)  # it has sent its Connect
            peer.sendall(greeting)
            if not greeting:
                peer.close()
            out, error = process.communicate(timeout=vof_case.TIMEOUT_S)
            peer.close()
        self.assertEqual(out, b'', error)
        self.assertEqual(process.returncode, vof_case.CANNOT_CONNECT, error)
        self.assertIn(f'listens at {place}', error.decode())
        self.assertIn('vof target', error.decode())

    def test_unsupported(self):
        self.assert_fails(vof_case.UNSUPPORTED, ['bench', '--rw', 'write', self.uri('fixed')],
                          'read-only')


class UsageTest(VofTestCase):
    """Wrong command lines, and help."""

    def test_wrong_usage(self):
        for arguments in (['info'], ['nonsense'], ['info', '--nonsense', self.uri('mem')],
                          ['read', '--length', '12X', self.uri('mem')],
                          ['bench', '--depth', '0', self.uri('mem')],
                          ['bench', '--rw', 'sideways', self.uri('mem')],
                          ['bench', '--bs', '1000', self.uri('mem')],
                          ['bench', '--bs', '0', self.uri('mem')],
                          ['info', 'tcp://[fe80::1]:1/disk'],
                          ['info', '--dialect', 'v6', self.uri('mem')],
                          ['info', 'disk0'], ['info', 'tcp://127.0.0.1:1/'],
                          ['info', 'carrier-pigeon://host/disk'],
                          ['info', self.uri('mem', '?colour=blue')],
                          ['bench', '--mix', '30', '--rw', 'read', self.uri('mem')],
                          ['info', 'tcp://127.0.0.1:0/disk'],
                          ['copy', self.uri('mem'), self.uri('mem', '?queues=2')],
                          ['verify', self.uri('mem'), self.uri('mem')],
                          ['read', 'file', '--offset', '1'], ['verify', '-', self.uri('mem')],
                          ['copy', '', self.uri('mem')], ['copy', 'file', ''], ['info', ''],
                          ['read', '-o', '', self.uri('mem')]):
            with self.subTest(arguments):
                self.assert_fails(vof_case.USAGE, arguments)

    def test_values_that_cannot_be_are_found_before_connecting(self):
        nobody = 'tcp://127.0.0.1:1/disk'
        for arguments, part in ((['info', nobody + '?ivqn=%ff'], 'UTF-8'),
                                (['info', nobody + '?ivqn=a%00b'], 'NUL'),
                                (['info', nobody + '?ivqn=' + 'x' * 256], '255'),
                                (['info', '--ivqn', b'\xff', nobody], 'UTF-8'),
                                (['info', '--ivqn', '', nobody], '255'),
                                (['info', '--ivqn', 'x' * 256, nobody], '255'),
                                (['info', 'tcp://127.0.0.1:1/%ff'], 'UTF-8'),
                                (['info', nobody + '?queue_size=3&dialect=ref'], 'power of two'),
                                (['ping', nobody + '?queue_size=3', '--dialect', 'ref'],
                                 'power of two')):
            with self.subTest(arguments):
                self.assert_fails(vof_case.USAGE, arguments, part)
        self.ok('info', self.uri('mem', '?queue_size=3'))
        self.ok('info', self.uri('mem', '?ivqn=%c3%bc'))

    def test_no_verb_is_wrong_usage(self):
        self.assertEqual(self.run_vof()[0], vof_case.USAGE)
        code, out, _ = self.run_vof('--json')
        self.assertEqual(code, vof_case.USAGE)
        self.assertEqual(json.loads(out)['error']['kind'], 'usage')

    def test_json_is_all_there_is_whatever_is_wrong(self):
        for arguments in (['info', '--bogus', '--json'], ['--json', 'info', '--bogus'],
                          ['info', '--json=true', '--bogus'], ['nonsense', '--json'],
                          ['--json'], ['info', '--json', '--timeout'], ['--json', '--bogus']):
            with self.subTest(arguments):
                code, out, error = self.run_vof(*arguments)
                self.assertEqual((code, error), (vof_case.USAGE, ''))
                self.assertEqual(json.loads(out)['error']['kind'], 'usage')
        for arguments, member in ((['--version', '--json'], 'version'),
                                  (['info', '--json', '--help'], 'help')):
            code, out, error = self.run_vof(*arguments)
            self.assertEqual((code, error), (vof_case.OK, ''))
            self.assertEqual(list(json.loads(out)), [member])
            self.assertFalse(json.loads(out)[member].endswith('\n'))

    def test_errors_say_what_is_known(self):
        _, _, error = self.run_vof('info', 'carrier-pigeon://host/disk')
        self.assertIn('tcp', error)
        _, _, error = self.run_vof('info', self.uri('mem', '?colour=blue'))
        self.assertIn('dialect', error)
        _, _, error = self.run_vof('info', '--bogus')
        self.assertIn('--bogus', error)
        _, _, error = self.run_vof('copy', '', self.uri('mem'))
        self.assertIn('SOURCE: the value is empty', error)
        _, _, error = self.run_vof('copy', 'a', 'b', 'c', 'd')
        self.assertIn('too many: c d', error)

    def test_help_has_an_example_of_every_verb(self):
        general = self.ok('--help').decode()
        for verb in VERBS:
            with self.subTest(verb):
                self.assertIn(f'  {verb} ', general)
                text = self.ok(verb, '--help').decode()
                self.assertIn('Examples:', text)
                self.assertIn(f'vof {verb} ', text)
                self.assertIn('--json', text)

    def test_version(self):
        self.assertRegex(self.ok('--version').decode(), r'^vof \d+\.\d+\.\d+\n$')


if __name__ == '__main__':
    vof_case.main()
