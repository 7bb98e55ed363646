# SPDX-License-Identifier: Apache-2.0
"""A target whose reactor hangs in somebody else's code: it says so, and ends.

    stuck_test.py PROGRAM PLUGIN
"""

import os
import signal
import sys
import time
import unittest

from tools.vof_target import target_process
from tools.vof_target.target_process import TargetProcess

PROGRAM = os.path.abspath(sys.argv[1])
PLUGIN = os.path.abspath(sys.argv[2])
TIME_LIMIT_S = 60
STUCK = ['--listen', 'tcp://127.0.0.1:0', '--plugin', PLUGIN, '--device', 'type=test-stuck,name=s']
FAILED = 1
# Beyond the time within which two signals are one.
APART_S = 0.5
# Main has looked after memory in between (MemoryReturn::kInterval).
LOOK_S = 6


class StuckTest(target_process.ScratchTestCase):
    """The reactor never comes back from the device."""

    def stick(self, target):
        sock = target_process.dial(target.uris[0])
        self.addCleanup(sock.close)
        sock.sendall(target_process.connect_command('s'))

    def test_ends_when_it_has_hung_for_too_long(self):
        ready = self.path('ready')
        options = ['--reactor-timeout', '1s', '--ready-file', ready]
        with TargetProcess(PROGRAM, STUCK + options) as target:
            while not os.path.exists(ready):  # it comes after the lines on stdout
                time.sleep(0.01)
            self.stick(target)
            self.assertEqual(target.wait(TIME_LIMIT_S), FAILED)
            self.assertNotIn('hangs', target.log)  # that is told after 10 s
            self.assertIn('has hung for 1s (reactor_timeout_ms)', target.log)
            self.assertFalse(os.path.exists(ready))

    def test_ends_while_it_drains(self):
        with TargetProcess(PROGRAM, STUCK + ['--reactor-timeout', '2s']) as target:
            self.stick(target)
            target.signal(signal.SIGTERM)
            self.assertEqual(target.wait(TIME_LIMIT_S), FAILED)
            self.assertIn('draining', target.log)
            self.assertIn('has hung for', target.log)

    def test_a_second_signal_ends_it_at_once(self):
        with TargetProcess(PROGRAM, STUCK + ['--reactor-timeout', '0']) as target:
            # A connection that ended has main look for memory to return.
            target_process.dial(target.uris[0]).close()
            self.stick(target)
            time.sleep(LOOK_S)
            while 'target-0 hangs, for 10s by now' not in target.log:
                time.sleep(0.1)
            target.signal(signal.SIGTERM)
            time.sleep(APART_S)
            target.signal(signal.SIGTERM)
            self.assertEqual(target.wait(TIME_LIMIT_S), FAILED)
            self.assertIn('ended by a second signal', target.log)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
