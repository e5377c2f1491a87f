"""Each C++ file includes the headers of the standard library whose names it uses, itself or in the
header of its name: compilers differ in what their headers include besides."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
NAMES = {
    "algorithm": (
        "adjacent_find all_of any_of binary_search clamp copy copy_n count count_if equal "
        "fill fill_n find find_if find_if_not for_each generate is_sorted lower_bound max "
        "max_element merge min min_element minmax minmax_element mismatch none_of nth_element "
        "partition remove_if replace reverse rotate set_difference sort stable_sort transform "
        "unique upper_bound"
    ),
    "array": "array to_array",
    "atomic": (
        "atomic atomic_flag atomic_ref atomic_thread_fence memory_order_acquire "
        "memory_order_relaxed memory_order_release"
    ),
    "barrier": "barrier",
    "bit": "bit_cast bit_ceil bit_width countl_zero countr_zero has_single_bit popcount",
    "cassert": "assert",
    "cctype": "isalnum isalpha isdigit isspace tolower toupper",
    "charconv": "from_chars to_chars",
    "chrono": "chrono",
    "cmath": (
        "abs cbrt ceil cos exp fabs floor fmod hypot isfinite isnan ldexp llround log log10 "
        "log2 lround pow round sin sqrt"
    ),
    "compare": "strong_ordering",
    "complex": "complex conj norm",
    "concepts": "convertible_to floating_point integral invocable same_as",
    "condition_variable": "condition_variable",
    "csignal": "raise sig_atomic_t signal",
    "cstddef": "byte max_align_t nullptr_t ptrdiff_t size_t",
    "cstdint": (
        "int16_t int32_t int64_t int8_t intptr_t uint16_t uint32_t uint64_t uint8_t uintptr_t"
    ),
    "cstdio": "FILE fclose fflush fopen fputs printf snprintf",
    "cstdlib": (
        "_Exit abort aligned_alloc atoi exit free getenv malloc setenv strtod strtoull system"
    ),
    "cstring": (
        "memcmp memcpy memmove memset strchr strcmp strerror strlen strncmp strrchr strstr"
    ),
    "ctime": "gmtime time time_t timespec tm",
    "deque": "deque",
    "exception": (
        "current_exception exception exception_ptr rethrow_exception terminate uncaught_exceptions"
    ),
    "filesystem": "filesystem",
    "fstream": "fstream ifstream ofstream",
    "functional": "cref function greater invoke less minus multiplies plus ref reference_wrapper",
    "future": "async future future_status launch packaged_task promise",
    "initializer_list": "initializer_list",
    "iostream": "cerr cin cout",
    "iterator": (
        "back_inserter begin distance end istreambuf_iterator make_move_iterator next prev size"
    ),
    "latch": "latch",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map multimap",
    "memory": "make_shared make_unique shared_ptr unique_ptr weak_ptr",
    "mutex": "lock_guard mutex scoped_lock unique_lock",
    "new": "bad_alloc hardware_destructive_interference_size launder nothrow",
    "numbers": "numbers",
    "numeric": (
        "accumulate exclusive_scan gcd inclusive_scan inner_product iota lcm midpoint "
        "partial_sum reduce transform_reduce"
    ),
    "optional": "make_optional nullopt optional",
    "ostream": "endl ostream",
    "random": (
        "mt19937 mt19937_64 random_device uniform_int_distribution uniform_real_distribution"
    ),
    "ranges": "ranges views",
    "regex": "regex",
    "set": "multiset set",
    "span": "span",
    "sstream": "istringstream ostringstream stringstream",
    "stdexcept": "domain_error invalid_argument logic_error out_of_range runtime_error",
    "stop_token": "stop_source stop_token",
    "string": "getline stod stoi stoll stoul string to_string",
    "string_view": "string_view",
    "system_error": "errc error_code system_error",
    "thread": "jthread this_thread thread",
    "tuple": "apply make_tuple tie tuple",
    "type_traits": (
        "conditional_t decay_t enable_if_t is_base_of_v is_enum_v is_floating_point_v "
        "is_integral_v is_invocable_v is_same_v is_void_v remove_cv_t remove_reference_t"
    ),
    "typeinfo": "type_info",
    "unordered_map": "unordered_map",
    "unordered_set": "unordered_set",
    "utility": "exchange forward index_sequence make_index_sequence make_pair move pair swap",
    "variant": "get_if holds_alternative variant visit",
    "vector": "erase_if vector",
}
HEADER = {name: header for header, names in NAMES.items() for name in names.split()}
# begin(), end() and size() come with every container.
CONTAINERS = {
    "array", "deque", "initializer_list", "map", "set", "span", "string", "string_view", "vector",
}  # fmt: skip
STREAMS = {"fstream", "iostream", "sstream"}
_NOT_CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(?:\\.|[^"\\\n])*\"""", re.DOTALL)


def included(text: str) -> set[str]:
    return set(re.findall(r"^#include <([a-z_]+)>", text, re.MULTILINE))


def missing(text: str, own_header: str = "") -> set[str]:
    """The standard headers that neither the text nor the header of its name includes."""
    code = _NOT_CODE.sub("", text)
    used = {name for name in re.findall(r"\bstd::(\w+)", code) if name in HEADER}
    has = included(text) | included(own_header)
    if has & CONTAINERS:
        used -= {"begin", "end", "size"}
    if has & STREAMS:
        used -= {"ostream", "endl"}
    return {HEADER[name] for name in used} - has


def test_standard_headers_are_included_where_they_are_used() -> None:
    wrong = {}
    for folder in ("src", "tests"):
        for path in sorted((TOP / folder).rglob("*.[ch]pp")):
            header = path.with_suffix(".hpp")
            own = header.read_text(encoding="utf-8") if header.is_file() else ""
            if found := missing(path.read_text(encoding="utf-8"), own):
                wrong[str(path.relative_to(TOP))] = sorted(found)
    assert wrong == {}


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        ("std::vector<std::size_t> v;", {"vector", "cstddef"}),
        ("#include <vector>\nstd::vector<int> v; auto n = std::size(v);", set()),
        ('// std::map\nauto text = "std::set";', set()),
    ],
)
def test_a_missing_header_is_seen(text: str, headers: set[str]) -> None:
    assert missing(text) == headers
