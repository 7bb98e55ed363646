# SPDX-License-Identifier: Apache-2.0
"""Debian libraries that a machine may lack: what needs them is left out there.

    load("//tools/build:debian_optional.bzl", "REQUIRES_RDMA_CORE")

    cc_library(
        name = "verbs",
        deps = ["@rdma_core//:rdmacm"],
        target_compatible_with = REQUIRES_RDMA_CORE,    # skipped by `bazel build //...` without it
    )

    deps = select({"//tools/build:has_rdma_core": [":verbs"], "//conditions:default": []})

Whether a library is there is found when its repository is fetched; `--//tools/build:rdma_core=false`
builds as if it were not, `bazel sync --configure` looks again after an installation.
"""

load("//tools/build:debian.bzl", "library_targets", "missing_message")

_INCOMPATIBLE = [str(Label("//tools/build:missing_library"))]

REQUIRES_RDMA_CORE = select({
    str(Label("//tools/build:has_rdma_core")): [],
    "//conditions:default": _INCOMPATIBLE,
})

REQUIRES_LIBFABRIC = select({
    str(Label("//tools/build:has_libfabric")): [],
    "//conditions:default": _INCOMPATIBLE,
})

# A library that says what to install when something is built with it after all.
_MISSING_TARGET = """
genrule(
    name = "{name}_missing",
    outs = ["{name}_missing.h"],
    cmd = "echo {message} >&2; exit 1",
)

cc_library(
    name = "{name}",
    hdrs = [":{name}_missing"],
)
"""

def _debian_optional_library_impl(ctx):
    lacking = [header for header in ctx.attr.headers if not ctx.path("/usr/include/" + header).exists]
    if lacking:
        message = missing_message(ctx, ctx.attr.packages, "/usr/include/" + lacking[0])
        build = "package(default_visibility = [\"//visibility:public\"])\n"
        for name in ctx.attr.pkg_config:
            # In shell quotes within a Starlark string.
            quoted = "'" + message.replace("'", "").replace("\n   ", "") + "'"
            build += _MISSING_TARGET.format(name = name, message = quoted)
    else:
        build = library_targets(ctx)
    ctx.file("WORKSPACE", "workspace(name = {})\n".format(repr(ctx.name)))
    ctx.file("BUILD.bazel", build)
    ctx.file("found.bzl", "FOUND = {}\n".format(not lacking))

debian_optional_library = repository_rule(
    implementation = _debian_optional_library_impl,
    attrs = {
        "headers": attr.string_list(
            mandatory = True,
            doc = "Headers under /usr/include; the library is there when all of them are.",
        ),
        "linkopts": attr.string_list_dict(doc = "Target -> fixed link options."),
        "packages": attr.string_list(mandatory = True, doc = "Debian packages to name when missing."),
        "pkg_config": attr.string_dict(doc = "Target -> pkg-config module."),
    },
    doc = "As debian_library, for a library without which the rest can be built. //:found.bzl has FOUND.",
    local = True,
    configure = True,
)

def _optional_library_flag_impl(_):
    return []

optional_library_flag = rule(
    implementation = _optional_library_flag_impl,
    build_setting = config.bool(flag = True),
    doc = "Whether to build what needs an optional library.",
)
