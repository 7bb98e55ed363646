# SPDX-License-Identifier: Apache-2.0
"""Tests that run in a virtual machine with an RDMA device.

    load("//testing/vm:guest_test.bzl", "vof_guest_test")

    vof_guest_test(
        name = "queue_pair_test",
        srcs = ["queue_pair_test.cc"],            # a GoogleTest, built as any other
        deps = [":queue_pair"],
    )

    vof_guest_test(
        name = "two_hosts_test",
        binary = ":copy.sh",                      # any program, with arguments
        args = ["10.77.0.2"],
        peer = ":serve.sh",                       # runs in a second guest, 10.77.0.2
        peer_ready = "listening",                 # the first program starts after this was said
        guest = ["--memlock", "65536"],           # options of testing/vm/run_in_guest
    )

The program starts in the root of the runfiles tree, as under `bazel test`. A boot costs some
seconds of two processors: put much into one test.
"""

def vof_guest_test(
        name,
        binary = None,
        srcs = [],
        deps = [],
        args = [],
        peer = None,
        peer_args = [],
        peer_ready = "",
        guest = [],
        data = [],
        tags = [],
        target_compatible_with = [],
        **kwargs):
    """Makes a test that runs a program in a guest and passes when it exits with 0.

    Args:
      name: the test.
      binary: the program; or
      srcs: sources of a GoogleTest, which becomes name + "_bin".
      deps: libraries of that GoogleTest.
      args: arguments of the program.
      peer: a program that runs in a second guest meanwhile, or None.
      peer_args: arguments of that one; words without blanks.
      peer_ready: text in its output for which the first program waits.
      guest: options of testing/vm/run_in_guest.
      data: files that the programs need at run time.
      tags: further tags.
      target_compatible_with: what the platform must have, for the GoogleTest, too.
      **kwargs: passed to the sh_test.
    """
    if bool(binary) == bool(srcs):
        fail("vof_guest_test {}: give either binary or srcs".format(name))
    if srcs:
        binary = name + "_bin"
        native.cc_binary(
            name = binary,
            testonly = True,
            srcs = srcs,
            target_compatible_with = target_compatible_with,
            deps = deps + ["@com_google_googletest//:gtest_main"],
        )
    runner = "//testing/vm:run_in_guest"
    options = list(guest)
    programs = [binary]
    if peer:
        programs.append(peer)
        words = ["$(rootpath {})".format(peer)] + peer_args
        options += ["--peer", "'" + " ".join(words) + "'", "--peer-ready", "'" + peer_ready + "'"]
    native.sh_test(
        name = name,
        srcs = ["//testing/vm:guest_test.sh"],
        args = ["$(rootpath {})".format(runner)] + options +
               ["--", "$(rootpath {})".format(binary)] + args,
        data = [runner, "//testing/vm:runner"] + programs + data,
        # The emulator is the slow part, and instrumented programs need more address space than its
        # memory; two virtual processors keep two real ones busy.
        tags = tags + ["cpu:2", "no-sanitizer", "vm"],
        target_compatible_with = target_compatible_with,
        timeout = kwargs.pop("timeout", "long"),
        **kwargs
    )
