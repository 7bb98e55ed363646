# SPDX-License-Identifier: Apache-2.0
"""C++ from protobuf schemas with Debian's protoc.

    load("//tools/build:proto.bzl", "vof_proto_library")

    vof_proto_library(
        name = "config_cc_proto",
        src = "config.proto",
    )

Depend on `:config_cc_proto` and include "path/to/config.pb.h".
"""

def vof_proto_library(name, src, deps = [], proto_deps = [], **kwargs):
    """Makes a cc_library of one .proto file.

    Args:
      name: the cc_library.
      src: the .proto file, in this package. Its imports are given from the workspace root.
      deps: vof_proto_library targets of the imported schemas.
      proto_deps: the .proto files imported, as labels.
      **kwargs: passed to the cc_library.
    """
    if not src.endswith(".proto"):
        fail("vof_proto_library {}: src {} is not a .proto file".format(name, src))
    stem = src[:-len(".proto")]
    header = stem + ".pb.h"
    source = stem + ".pb.cc"

    # Inside an external repository the schema lies below external/NAME, which protoc has to see as
    # its root too, or the generated include paths would carry that prefix.
    native.genrule(
        name = name + "_protoc",
        srcs = [src] + proto_deps,
        outs = [header, source],
        cmd = " && ".join([
            "src=$(location {})".format(src),
            "package={}".format(repr(native.package_name())),
            "root=$${src%$${package}*}",
            "out=$(RULEDIR)",
            "$(location @com_google_protobuf//:protoc) -I$${root:-.} -I/usr/include" +
            " --cpp_out=$${out%$${package}} $$src",
        ]),
        tools = ["@com_google_protobuf//:protoc"],
    )
    native.cc_library(
        name = name,
        srcs = [source],
        hdrs = [header],
        copts = ["-w"],
        deps = deps + ["@com_google_protobuf//:protobuf"],
        **kwargs
    )
