# SPDX-License-Identifier: Apache-2.0
"""Everything a workspace needs to build vof without a network.

    local_repository(name = "vof", path = "/path/to/vof")
    load("@vof//tools/build:repositories.bzl", "vof_repositories")
    vof_repositories()

Third-party libraries are Debian's packages, published under the labels the projects themselves
use (`@com_google_absl//absl/status` and so on). A repository that the embedding workspace has
already defined is left alone.
"""

load("//tools/build:debian.bzl", "debian_absl", "debian_library", "debian_protobuf")
load("//tools/build:debian_optional.bzl", "debian_optional_library")
load("//tools/build:shims.bzl", "coverage_tools_shim", "rules_cc_shim")

def _maybe(rule, name, **kwargs):
    if not native.existing_rule(name):
        rule(name = name, **kwargs)

def _bazel_shims():
    # Debian's Bazel asks for these by name and would otherwise try to download them.
    _maybe(rules_cc_shim, name = "rules_cc")
    _maybe(coverage_tools_shim, name = "remote_coverage_tools")
    _maybe(native.local_repository, name = "rules_java", path = "/usr/share/bazel/rules/java")

def _libraries():
    _maybe(debian_absl, name = "com_google_absl")
    _maybe(debian_protobuf, name = "com_google_protobuf")
    _maybe(
        debian_library,
        name = "com_google_googletest",
        headers = ["gtest/gtest.h", "gmock/gmock.h"],
        linkopts = {
            "gtest": ["-lgmock", "-lgtest", "-lpthread"],
            "gtest_main": ["-lgmock_main", "-lgmock", "-lgtest", "-lpthread"],
        },
        packages = ["libgtest-dev", "libgmock-dev"],
    )
    _maybe(
        debian_library,
        name = "com_github_google_benchmark",
        headers = ["benchmark/benchmark.h"],
        linkopts = {
            "benchmark": ["-lbenchmark", "-lpthread"],
            "benchmark_main": ["-lbenchmark_main", "-lbenchmark", "-lpthread"],
        },
        packages = ["libbenchmark-dev"],
    )
    _maybe(
        debian_library,
        name = "liburing",
        packages = ["liburing-dev"],
        pkg_config = {"liburing": "liburing"},
    )
    _maybe(
        debian_library,
        name = "cli11",
        packages = ["libcli11-dev"],
        pkg_config = {"cli11": "CLI11"},
    )
    _maybe(
        debian_library,
        name = "spdlog",
        packages = ["libspdlog-dev", "libfmt-dev"],
        pkg_config = {"spdlog": "spdlog"},
    )
    _maybe(
        debian_library,
        name = "nlohmann_json",
        packages = ["nlohmann-json3-dev"],
        pkg_config = {"json": "nlohmann_json"},
    )
    _maybe(
        debian_library,
        name = "libnbd",
        packages = ["libnbd-dev"],
        pkg_config = {"libnbd": "libnbd"},
    )

def _fabric_libraries():
    # Without them vof has fewer schemes; see debian_optional.bzl.
    _maybe(
        debian_optional_library,
        name = "rdma_core",
        headers = ["infiniband/verbs.h", "rdma/rdma_cma.h"],
        packages = ["libibverbs-dev", "librdmacm-dev"],
        pkg_config = {
            "ibverbs": "libibverbs",
            "rdmacm": "librdmacm",
        },
    )
    _maybe(
        debian_optional_library,
        name = "libfabric",
        headers = ["rdma/fabric.h"],
        packages = ["libfabric-dev"],
        pkg_config = {"libfabric": "libfabric"},
    )

def vof_repositories():
    """Defines every external repository that vof's targets refer to."""
    _bazel_shims()
    _libraries()
    _fabric_libraries()
