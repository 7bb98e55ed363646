# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the repositories that Bazel itself refers to and Debian does not package."""

_RULES_CC_BUILD = """\
package(default_visibility = ["//visibility:public"])

alias(
    name = "toolchain_type",
    actual = "@bazel_tools//tools/cpp:toolchain_type",
)
"""

_RULES_CC_DEFS = """\
cc_binary = native.cc_binary
cc_import = native.cc_import
cc_library = native.cc_library
cc_test = native.cc_test
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
objc_library = native.objc_library
"""

# Never run: coverage is not supported with Debian's Bazel, but every test rule resolves the labels.
_COVERAGE_BUILD = """\
package(default_visibility = ["//visibility:public"])

filegroup(name = "coverage_report_generator")

filegroup(name = "lcov_merger")
"""

def _rules_cc_shim_impl(ctx):
    ctx.file("WORKSPACE", "workspace(name = \"rules_cc\")\n")
    ctx.file("cc/BUILD.bazel", _RULES_CC_BUILD)
    ctx.file("cc/defs.bzl", _RULES_CC_DEFS)

rules_cc_shim = repository_rule(
    implementation = _rules_cc_shim_impl,
    doc = "@rules_cc: the native rules under their later names.",
)

def _coverage_tools_shim_impl(ctx):
    ctx.file("WORKSPACE", "workspace(name = \"remote_coverage_tools\")\n")
    ctx.file("BUILD.bazel", _COVERAGE_BUILD)

coverage_tools_shim = repository_rule(
    implementation = _coverage_tools_shim_impl,
    doc = "@remote_coverage_tools: empty targets.",
)
