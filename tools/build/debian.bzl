# SPDX-License-Identifier: Apache-2.0
"""Repository rules that publish Debian's development packages as Bazel targets.

Headers are found where Debian puts them (/usr/include), so a target carries only its defines and
link options. Both come from pkg-config where the package has a module, transitive closure included,
so that every label links by itself.

Bazel cannot see an upgrade of a system package: run `bazel clean --expunge` after one.
"""

load("//tools/build:absl_targets.bzl", "ABSL_TARGETS")

_BUILD_HEADER = "package(default_visibility = [\"//visibility:public\"])\n"

def missing_message(ctx, packages, what):
    """Says what is missing and which packages bring it."""
    return ("@{}: {} not found. It comes with Debian's {}; install it with\n" +
            "    apt-get install {}").format(
        ctx.name,
        what,
        " and ".join(packages),
        " ".join(packages),
    )

def _missing(ctx, packages, what):
    fail(missing_message(ctx, packages, what))

def _require_header(ctx, header, packages):
    if not ctx.path("/usr/include/" + header).exists:
        _missing(ctx, packages, "/usr/include/" + header)

def _run_pkg_config(ctx, module, packages):
    """Returns struct(defines, linkopts) of a pkg-config module."""
    tool = ctx.which("pkg-config")
    if not tool:
        _missing(ctx, ["pkg-config"], "pkg-config")
    result = ctx.execute([tool, "--cflags", "--libs", module])
    if result.return_code != 0:
        _missing(ctx, packages, "pkg-config module " + module)
    defines = []
    linkopts = []
    for word in result.stdout.split(" "):
        word = word.strip()
        if word.startswith("-D"):
            if word[2:] not in defines:
                defines.append(word[2:])
        elif word.startswith("-l") or word.startswith("-L") or word.startswith("-Wl,"):
            linkopts.append(word)
        elif word == "-pthread":
            linkopts.append(word)
        # Anything else (-I of a default directory, -m of the packager's machine) is not ours to pass.

    return struct(defines = defines, linkopts = linkopts)

def _cc_library(name, defines = [], linkopts = []):
    # A library drags in its whole closure; --as-needed keeps what the binary really uses.
    if linkopts:
        linkopts = ["-Wl,--push-state,--as-needed"] + linkopts + ["-Wl,--pop-state"]
    return "\ncc_library(\n    name = {},\n    defines = {},\n    linkopts = {},\n)\n".format(
        repr(name),
        repr(defines),
        repr(linkopts),
    )

def _begin(ctx):
    ctx.file("WORKSPACE", "workspace(name = {})\n".format(repr(ctx.name)))

def library_targets(ctx):
    """The BUILD file of a repository rule with the attributes of debian_library."""
    build = _BUILD_HEADER
    for target, module in ctx.attr.pkg_config.items():
        flags = _run_pkg_config(ctx, module, ctx.attr.packages)
        build += _cc_library(target, flags.defines, flags.linkopts)
    for target, linkopts in ctx.attr.linkopts.items():
        build += _cc_library(target, linkopts = linkopts)
    return build

def _debian_library_impl(ctx):
    _begin(ctx)
    for header in ctx.attr.headers:
        _require_header(ctx, header, ctx.attr.packages)
    ctx.file("BUILD.bazel", library_targets(ctx))

debian_library = repository_rule(
    implementation = _debian_library_impl,
    attrs = {
        "headers": attr.string_list(doc = "Headers under /usr/include that must exist."),
        "linkopts": attr.string_list_dict(doc = "Target -> fixed link options."),
        "packages": attr.string_list(mandatory = True, doc = "Debian packages to name when missing."),
        "pkg_config": attr.string_dict(doc = "Target -> pkg-config module."),
    },
    doc = "Targets at the top of a repository, from pkg-config modules or fixed link options.",
    local = True,
)

def _debian_absl_impl(ctx):
    _begin(ctx)
    packages = ["libabsl-dev"]
    for package, targets in ABSL_TARGETS.items():
        build = _BUILD_HEADER
        for target, module in targets.items():
            flags = _run_pkg_config(ctx, module, packages)
            build += _cc_library(target, flags.defines, flags.linkopts)
        ctx.file("absl/{}/BUILD.bazel".format(package), build)

debian_absl = repository_rule(
    implementation = _debian_absl_impl,
    doc = "Abseil under its own labels (see absl_targets.bzl for the list).",
    local = True,
)

def _debian_protobuf_impl(ctx):
    _begin(ctx)
    packages = ["libprotobuf-dev"]
    protoc = ctx.which("protoc")
    if not protoc:
        _missing(ctx, ["protobuf-compiler"], "protoc")
    _require_header(ctx, "google/protobuf/message.h", packages)
    ctx.symlink(protoc, "bin/protoc")
    build = _BUILD_HEADER
    build += "\nfilegroup(\n    name = \"protoc\",\n    srcs = [\"bin/protoc\"],\n)\n"
    for target, module in [("protobuf", "protobuf"), ("protobuf_lite", "protobuf-lite")]:
        flags = _run_pkg_config(ctx, module, packages)
        build += _cc_library(target, flags.defines, flags.linkopts)
    ctx.file("BUILD.bazel", build)

debian_protobuf = repository_rule(
    implementation = _debian_protobuf_impl,
    doc = "@com_google_protobuf//:protobuf, :protobuf_lite and the compiler, :protoc.",
    local = True,
)
