# SPDX-License-Identifier: Apache-2.0
"""Tests in Python 3. Bazel's own py_test wants a program called `python`, which Debian 12 has not.

    load("//tools/build:python.bzl", "vof_python_test")

    vof_python_test(name = "x_test", main = "x_test.py", srcs = ["x.py"])

The test runs in the root of the runfiles tree, which is also the root of imports:
`from testing.style import cpp_text`.
"""

def vof_python_test(name, main, srcs = [], args = [], data = [], **kwargs):
    """Makes a test that runs `python3 main args...`.

    Args:
      name: the test.
      main: the script.
      srcs: modules it imports from this package.
      args: arguments of the script.
      data: files and programs it needs at run time.
      **kwargs: passed to the sh_test.
    """
    native.sh_test(
        name = name,
        srcs = ["//tools/build:python_run.sh"],
        args = ["$(rootpath {})".format(main)] + args,
        data = [main] + srcs + data,
        **kwargs
    )
