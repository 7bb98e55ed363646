# SPDX-License-Identifier: Apache-2.0
"""Fuzz targets that are ordinary tests.

    load("//tools/build:fuzz.bzl", "vof_fuzz_target")

    vof_fuzz_target(
        name = "native_codec_fuzz",
        srcs = ["native_codec_fuzz.cc"],      # defines LLVMFuzzerTestOneInput
        corpus = "corpus/native_codec",       # a directory of this package, at least one file
        deps = ["//core/wire:native"],
    )

Without --config=fuzz the test replays the corpus, and every prefix of every file in it, through the
same function; so the corpus is run in each configuration. With --config=fuzz it fuzzes for
VOF_FUZZ_SECONDS (--test_env); what it found is in the test's outputs.zip, below crash/ and corpus/.
"""

def vof_fuzz_target(name, srcs, corpus, deps = [], dictionary = None, max_len = 4096, tags = [], **kwargs):
    """Makes a test of a function LLVMFuzzerTestOneInput.

    Args:
      name: the test; the program under it is name + "_bin".
      srcs: sources that define LLVMFuzzerTestOneInput.
      corpus: a directory in this package with the seed inputs.
      deps: libraries.
      dictionary: a libFuzzer dictionary file in this package, or None.
      max_len: longest input that the fuzzer makes, in bytes.
      tags: further tags; "fuzz" is added.
      **kwargs: passed to the test.
    """
    inputs = native.glob([corpus + "/**"])
    if not inputs:
        fail("vof_fuzz_target {}: no files below {}/{}".format(name, native.package_name(), corpus))
    program = name + "_bin"
    native.cc_binary(
        name = program,
        testonly = True,
        srcs = srcs,
        linkopts = select({
            "//tools/build:fuzzing": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        deps = deps + select({
            "//tools/build:fuzzing": [],
            "//conditions:default": ["//tools/build:replay_main"],
        }),
    )
    package = native.package_name()
    native.sh_test(
        name = name,
        srcs = ["//tools/build:fuzz_run.sh"],
        args = select({
            "//tools/build:fuzzing": ["fuzz"],
            "//conditions:default": ["replay"],
        }) + [
            "$(rootpath :{})".format(program),
            "{}/{}".format(package, corpus),
            str(max_len),
        ] + (["{}/{}".format(package, dictionary)] if dictionary else []),
        data = [":" + program] + inputs + ([dictionary] if dictionary else []),
        tags = tags + ["fuzz"],
        timeout = kwargs.pop("timeout", "long"),
        **kwargs
    )
