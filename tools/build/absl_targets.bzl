# SPDX-License-Identifier: Apache-2.0
"""Abseil's Bazel labels and the pkg-config modules of Debian's libabsl-dev that stand for them."""

# Package under absl/ -> target -> pkg-config module.
ABSL_TARGETS = {
    "algorithm": {
        "algorithm": "absl_algorithm",
        "container": "absl_algorithm_container",
    },
    "base": {
        "base": "absl_base",
        "core_headers": "absl_core_headers",
        "dynamic_annotations": "absl_dynamic_annotations",
        "endian": "absl_endian",
    },
    "cleanup": {"cleanup": "absl_cleanup"},
    "container": {
        "btree": "absl_btree",
        "fixed_array": "absl_fixed_array",
        "flat_hash_map": "absl_flat_hash_map",
        "flat_hash_set": "absl_flat_hash_set",
        "inlined_vector": "absl_inlined_vector",
        "node_hash_map": "absl_node_hash_map",
        "node_hash_set": "absl_node_hash_set",
    },
    "debugging": {
        "failure_signal_handler": "absl_failure_signal_handler",
        "leak_check": "absl_leak_check",
        "stacktrace": "absl_stacktrace",
        "symbolize": "absl_symbolize",
    },
    "flags": {
        "flag": "absl_flags",
        "parse": "absl_flags_parse",
        "usage": "absl_flags_usage",
    },
    "functional": {
        "any_invocable": "absl_any_invocable",
        "bind_front": "absl_bind_front",
        "function_ref": "absl_function_ref",
    },
    "hash": {"hash": "absl_hash"},
    "memory": {"memory": "absl_memory"},
    "meta": {"type_traits": "absl_meta"},
    "numeric": {
        "bits": "absl_bits",
        "int128": "absl_int128",
    },
    "random": {
        "distributions": "absl_random_distributions",
        "random": "absl_random_random",
    },
    "status": {
        "status": "absl_status",
        "statusor": "absl_statusor",
    },
    "strings": {
        "cord": "absl_cord",
        "str_format": "absl_str_format",
        "strings": "absl_strings",
    },
    "time": {"time": "absl_time"},
    "types": {
        "any": "absl_any",
        "optional": "absl_optional",
        "span": "absl_span",
        "variant": "absl_variant",
    },
    "utility": {"utility": "absl_utility"},
}
