# SPDX-License-Identifier: Apache-2.0
"""What is missing on a machine is said with the package that brings it."""

import pathlib
import tempfile
import unittest

from testing.vm import guest_image


class FindKernelTest(unittest.TestCase):
    """With directories that stand for /boot and /lib/modules."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.boot = pathlib.Path(directory.name, 'boot')
        self.modules = pathlib.Path(directory.name, 'modules')
        self.boot.mkdir()

    def add_kernel(self, version, modules):
        """A kernel with a list of lines as in modules.dep."""
        (self.boot / f'vmlinuz-{version}').touch()
        directory = self.modules / version
        directory.mkdir(parents=True)
        (directory / 'modules.dep').write_text('\n'.join(modules))
        (directory / 'modules.builtin').write_text('kernel/fs/overlayfs/overlay.ko\n')

    def find(self):
        """What the code under test finds."""
        return guest_image.find_kernel(self.boot, self.modules)

    def test_no_kernel(self):
        """The package is named."""
        with self.assertRaisesRegex(guest_image.GuestError, 'apt-get install .* linux-image-amd64'):
            self.find()

    def test_kernel_without_soft_roce(self):
        """The module is named, too."""
        self.add_kernel('1-cloud', [f'{name}.ko:' for name in guest_image.MODULES
                                    if name != 'rdma_rxe'])
        with self.assertRaisesRegex(guest_image.GuestError, '1-cloud has no module rdma_rxe'):
            self.find()

    def test_order_of_modules(self):
        """What others need comes first, once; what is built in is not loaded."""
        self.add_kernel('2', ['rxe/rdma_rxe.ko.xz: core.ko udp.ko', 'dummy.ko: core.ko'] + [
            f'{name}.ko:' for name in guest_image.MODULES
            if name not in ('rdma_rxe', 'dummy', 'overlay')])
        files = [str(path.relative_to(self.modules / '2')) for path in self.find().modules]
        self.assertEqual([name for name in files if name in
                          ('core.ko', 'udp.ko', 'dummy.ko', 'rxe/rdma_rxe.ko.xz')],
                         ['core.ko', 'dummy.ko', 'udp.ko', 'rxe/rdma_rxe.ko.xz'])
        self.assertNotIn('overlay.ko', files)


class InitramfsTest(unittest.TestCase):
    """The guest has no libraries when it starts."""

    def test_busybox(self):
        """Neither none nor a dynamically linked one will do."""
        kernel = guest_image.Kernel('1', pathlib.Path('/none'), ())
        for program in ('/nonexistent', '/bin/sh'):
            with self.assertRaisesRegex(guest_image.GuestError, 'busybox-static'):
                guest_image.write_initramfs(kernel, '/dev/null', program)


if __name__ == '__main__':
    unittest.main()
