"""What functions there are in device expressions: every form, in the order in which cel-go tries them.

This is the environment of Kubernetes 1.37 for stored expressions (`oracle cel --functions` prints the same). The
functions that ask the API server for permissions are in it, though no device expression can come by a value for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from nodewise.devices.cel.cel_types import CelType, parse_type


@dataclass(frozen=True, slots=True)
class Overload:
    """One form of a function.

    Attributes
    ----------
    overload_id : str
        Costs are told apart by it.
    is_member : bool
        Whether it is called on its first parameter.
    """

    overload_id: str
    params: tuple[CelType, ...]
    result: CelType
    is_member: bool


_TABLE = """
!_ | logical_not | (bool) | bool
-_ | negate_double | (double) | double
-_ | negate_int64 | (int) | int
@in | in_list | (<A>, list(<A>)) | bool
@in | in_map | (<A>, map(<A>, <B>)) | bool
@not_strictly_false | not_strictly_false | (bool) | bool
_!=_ | not_equals | (<A>, <A>) | bool
_%_ | modulo_int64 | (int, int) | int
_%_ | modulo_uint64 | (uint, uint) | uint
_&&_ | logical_and | (bool, bool) | bool
_*_ | multiply_double | (double, double) | double
_*_ | multiply_int64 | (int, int) | int
_*_ | multiply_uint64 | (uint, uint) | uint
_+_ | add_bytes | (bytes, bytes) | bytes
_+_ | add_double | (double, double) | double
_+_ | add_duration_duration | (duration, duration) | duration
_+_ | add_duration_timestamp | (duration, timestamp) | timestamp
_+_ | add_timestamp_duration | (timestamp, duration) | timestamp
_+_ | add_int64 | (int, int) | int
_+_ | add_list | (list(<A>), list(<A>)) | list(<A>)
_+_ | add_string | (string, string) | string
_+_ | add_uint64 | (uint, uint) | uint
_-_ | subtract_double | (double, double) | double
_-_ | subtract_duration_duration | (duration, duration) | duration
_-_ | subtract_int64 | (int, int) | int
_-_ | subtract_timestamp_duration | (timestamp, duration) | timestamp
_-_ | subtract_timestamp_timestamp | (timestamp, timestamp) | duration
_-_ | subtract_uint64 | (uint, uint) | uint
_/_ | divide_double | (double, double) | double
_/_ | divide_int64 | (int, int) | int
_/_ | divide_uint64 | (uint, uint) | uint
_==_ | equals | (<A>, <A>) | bool
_?._ | select_optional_field | (dyn, string) | optional_type(<V>)
_?_:_ | conditional | (bool, <A>, <A>) | <A>
_[?_] | list_optindex_optional_int | (list(<V>), int) | optional_type(<V>)
_[?_] | optional_list_optindex_optional_int | (optional_type(list(<V>)), int) | optional_type(<V>)
_[?_] | map_optindex_optional_value | (map(<K>, <V>), <K>) | optional_type(<V>)
_[?_] | optional_map_optindex_optional_value | (optional_type(map(<K>, <V>)), <K>) | optional_type(<V>)
_[_] | index_list | (list(<A>), int) | <A>
_[_] | index_map | (map(<A>, <B>), <A>) | <B>
_[_] | optional_list_index_int | (optional_type(list(<V>)), int) | optional_type(<V>)
_[_] | optional_map_index_value | (optional_type(map(<K>, <V>)), <K>) | optional_type(<V>)
_||_ | logical_or | (bool, bool) | bool
add | quantity_add | kubernetes.Quantity.(kubernetes.Quantity) | kubernetes.Quantity
add | quantity_add_int | kubernetes.Quantity.(int) | kubernetes.Quantity
allowed | decision_allowed | K.Decision.() | bool
asApproximateFloat | quantity_get_float | kubernetes.Quantity.() | double
asInteger | quantity_get_int | kubernetes.Quantity.() | int
bool | bool_to_bool | (bool) | bool
bool | string_to_bool | (string) | bool
bytes | bytes_to_bytes | (bytes) | bytes
bytes | string_to_bytes | (string) | bytes
cel.@mapInsert | @mapInsert_map_key_value | (map(<K>, <V>), <K>, <V>) | map(<K>, <V>)
cel.@mapInsert | @mapInsert_map_map | (map(<K>, <V>), map(<K>, <V>)) | map(<K>, <V>)
charAt | string_char_at_int | string.(int) | string
check | pathcheck_check | K.PathCheck.(string) | K.Decision
check | resourcecheck_check | K.ResourceCheck.(string) | K.Decision
cidr | string_to_cidr | (string) | net.CIDR
compareTo | quantity_compare_to | kubernetes.Quantity.(kubernetes.Quantity) | int
compareTo | semver_compare_to | kubernetes.Semver.(kubernetes.Semver) | int
contains | contains_string | string.(string) | bool
containsCIDR | cidr_contains_cidr_string | net.CIDR.(string) | bool
containsCIDR | cidr_contains_cidr | net.CIDR.(net.CIDR) | bool
containsIP | cidr_contains_ip_string | net.CIDR.(string) | bool
containsIP | cidr_contains_ip_ip | net.CIDR.(net.IP) | bool
distinct | list_distinct | list(<T>).() | list(<T>)
double | double_to_double | (double) | double
double | int64_to_double | (int) | double
double | string_to_double | (string) | double
double | uint64_to_double | (uint) | double
duration | duration_to_duration | (duration) | duration
duration | string_to_duration | (string) | duration
dyn | to_dyn | (<A>) | dyn
endsWith | ends_with_string | string.(string) | bool
error | decision_error | K.Decision.() | string
errored | decision_errored | K.Decision.() | bool
family | ip_family | net.IP.() | int
fieldSelector | authorizer_fieldselector | K.ResourceCheck.(string) | K.ResourceCheck
find | string_find_string | string.(string) | string
findAll | string_find_all_string | string.(string) | list(string)
findAll | string_find_all_string_int | string.(string, int) | list(string)
first | list_first | list(<V>).() | optional_type(<V>)
flatten | list_flatten | list(list(<T>)).() | list(<T>)
flatten | list_flatten_int | list(dyn).(int) | list(dyn)
format | string_format | string.(list(dyn)) | string
format.named | format-named | (string) | optional_type(kubernetes.NamedFormat)
getDate | timestamp_to_day_of_month_1_based | timestamp.() | int
getDate | timestamp_to_day_of_month_1_based_with_tz | timestamp.(string) | int
getDayOfMonth | timestamp_to_day_of_month | timestamp.() | int
getDayOfMonth | timestamp_to_day_of_month_with_tz | timestamp.(string) | int
getDayOfWeek | timestamp_to_day_of_week | timestamp.() | int
getDayOfWeek | timestamp_to_day_of_week_with_tz | timestamp.(string) | int
getDayOfYear | timestamp_to_day_of_year | timestamp.() | int
getDayOfYear | timestamp_to_day_of_year_with_tz | timestamp.(string) | int
getEscapedPath | url_get_escaped_path | kubernetes.URL.() | string
getFullYear | timestamp_to_year | timestamp.() | int
getFullYear | timestamp_to_year_with_tz | timestamp.(string) | int
getHost | url_get_host | kubernetes.URL.() | string
getHostname | url_get_hostname | kubernetes.URL.() | string
getHours | timestamp_to_hours | timestamp.() | int
getHours | timestamp_to_hours_with_tz | timestamp.(string) | int
getHours | duration_to_hours | duration.() | int
getMilliseconds | timestamp_to_milliseconds | timestamp.() | int
getMilliseconds | timestamp_to_milliseconds_with_tz | timestamp.(string) | int
getMilliseconds | duration_to_milliseconds | duration.() | int
getMinutes | timestamp_to_minutes | timestamp.() | int
getMinutes | timestamp_to_minutes_with_tz | timestamp.(string) | int
getMinutes | duration_to_minutes | duration.() | int
getMonth | timestamp_to_month | timestamp.() | int
getMonth | timestamp_to_month_with_tz | timestamp.(string) | int
getPort | url_get_port | kubernetes.URL.() | string
getQuery | url_get_query | kubernetes.URL.() | map(string, list(string))
getScheme | url_get_scheme | kubernetes.URL.() | string
getSeconds | timestamp_to_seconds | timestamp.() | int
getSeconds | timestamp_to_seconds_tz | timestamp.(string) | int
getSeconds | duration_to_seconds | duration.() | int
group | authorizer_group | K.Authorizer.(string) | K.GroupCheck
hasValue | optional_hasValue | optional_type(<V>).() | bool
includes | list_includes_dyn_dyn | dyn.(dyn) | bool
indexOf | string_index_of_string | string.(string) | int
indexOf | string_index_of_string_int | string.(string, int) | int
indexOf | list_a_index_of_int | list(<A>).(<A>) | int
int | int64_to_int64 | (int) | int
int | double_to_int64 | (double) | int
int | duration_to_int64 | (duration) | int
int | string_to_int64 | (string) | int
int | timestamp_to_int64 | (timestamp) | int
int | uint64_to_int64 | (uint) | int
ip | string_to_ip | (string) | net.IP
ip | cidr_ip | net.CIDR.() | net.IP
ip.isCanonical | ip_is_canonical | (string) | bool
isCIDR | is_cidr | (string) | bool
isGlobalUnicast | ip_is_global_unicast | net.IP.() | bool
isGreaterThan | quantity_is_greater_than | kubernetes.Quantity.(kubernetes.Quantity) | bool
isGreaterThan | semver_is_greater_than | kubernetes.Semver.(kubernetes.Semver) | bool
isIP | is_ip | (string) | bool
isInteger | quantity_is_integer | kubernetes.Quantity.() | bool
isLessThan | quantity_is_less_than | kubernetes.Quantity.(kubernetes.Quantity) | bool
isLessThan | semver_is_less_than | kubernetes.Semver.(kubernetes.Semver) | bool
isLinkLocalMulticast | ip_is_link_local_multicast | net.IP.() | bool
isLinkLocalUnicast | ip_is_link_local_unicast | net.IP.() | bool
isLoopback | ip_is_loopback | net.IP.() | bool
isQuantity | is_quantity_string | (string) | bool
isSemver | is_semver_string | (string) | bool
isSemver | is_semver_string_bool | (string, bool) | bool
isURL | is_url_string | (string) | bool
isUnspecified | ip_is_unspecified | net.IP.() | bool
join | list_join | list(string).() | string
join | list_join_string | list(string).(string) | string
labelSelector | authorizer_labelselector | K.ResourceCheck.(string) | K.ResourceCheck
last | list_last | list(<V>).() | optional_type(<V>)
lastIndexOf | string_last_index_of_string | string.(string) | int
lastIndexOf | string_last_index_of_string_int | string.(string, int) | int
lastIndexOf | list_a_last_index_of_int | list(<A>).(<A>) | int
lists.range | lists_range | (int) | list(int)
lowerAscii | string_lower_ascii | string.() | string
major | semver_major | kubernetes.Semver.() | int
masked | cidr_masked | net.CIDR.() | net.CIDR
matches | matches | (string, string) | bool
matches | matches_string | string.(string) | bool
minor | semver_minor | kubernetes.Semver.() | int
name | resourcecheck_name | K.ResourceCheck.(string) | K.ResourceCheck
namespace | resourcecheck_namespace | K.ResourceCheck.(string) | K.ResourceCheck
optional.none | optional_none | () | optional_type(<V>)
optional.of | optional_of | (<V>) | optional_type(<V>)
optional.ofNonZeroValue | optional_ofNonZeroValue | (<V>) | optional_type(<V>)
optional.unwrap | optional_unwrap | (list(optional_type(<V>))) | list(<V>)
or | optional_or_optional | optional_type(<V>).(optional_type(<V>)) | optional_type(<V>)
orValue | optional_orValue_value | optional_type(<V>).(<V>) | <V>
patch | semver_patch | kubernetes.Semver.() | int
path | authorizer_path | K.Authorizer.(string) | K.PathCheck
prefixLength | cidr_prefix_length | net.CIDR.() | int
quantity | string_to_quantity | (string) | kubernetes.Quantity
reason | decision_reason | K.Decision.() | string
replace | string_replace_string_string | string.(string, string) | string
replace | string_replace_string_string_int | string.(string, string, int) | string
resource | groupcheck_resource | K.GroupCheck.(string) | K.ResourceCheck
reverse | list_reverse | list(<T>).() | list(<T>)
semver | string_to_semver | (string) | kubernetes.Semver
semver | string_bool_to_semver | (string, bool) | kubernetes.Semver
serviceAccount | authorizer_serviceaccount | K.Authorizer.(string, string) | K.Authorizer
sets.contains | list_sets_contains_list | (list(<T>), list(<T>)) | bool
sets.equivalent | list_sets_equivalent_list | (list(<T>), list(<T>)) | bool
sets.intersects | list_sets_intersects_list | (list(<T>), list(<T>)) | bool
sign | quantity_sign | (kubernetes.Quantity) | int
size | size_bytes | (bytes) | int
size | bytes_size | bytes.() | int
size | size_list | (list(<A>)) | int
size | list_size | list(<A>).() | int
size | size_map | (map(<A>, <B>)) | int
size | map_size | map(<A>, <B>).() | int
size | size_string | (string) | int
size | string_size | string.() | int
slice | list_slice | list(<T>).(int, int) | list(<T>)
split | string_split_string | string.(string) | list(string)
split | string_split_string_int | string.(string, int) | list(string)
startsWith | starts_with_string | string.(string) | bool
string | string_to_string | (string) | string
string | bool_to_string | (bool) | string
string | bytes_to_string | (bytes) | string
string | double_to_string | (double) | string
string | duration_to_string | (duration) | string
string | int64_to_string | (int) | string
string | timestamp_to_string | (timestamp) | string
string | uint64_to_string | (uint) | string
string | ip_to_string | (net.IP) | string
string | cidr_to_string | (net.CIDR) | string
strings.quote | strings_quote | (string) | string
sub | quantity_sub | kubernetes.Quantity.(kubernetes.Quantity) | kubernetes.Quantity
sub | quantity_sub_int | kubernetes.Quantity.(int) | kubernetes.Quantity
subresource | resourcecheck_subresource | K.ResourceCheck.(string) | K.ResourceCheck
substring | string_substring_int | string.(int) | string
substring | string_substring_int_int | string.(int, int) | string
sum | list_int_sum_int | list(int).() | int
sum | list_uint_sum_uint | list(uint).() | uint
sum | list_double_sum_double | list(double).() | double
sum | list_duration_sum_duration | list(duration).() | duration
timestamp | timestamp_to_timestamp | (timestamp) | timestamp
timestamp | int64_to_timestamp | (int) | timestamp
timestamp | string_to_timestamp | (string) | timestamp
trim | string_trim | string.() | string
type | type | (<A>) | type(<A>)
uint | uint64_to_uint64 | (uint) | uint
uint | double_to_uint64 | (double) | uint
uint | int64_to_uint64 | (int) | uint
uint | string_to_uint64 | (string) | uint
unwrapOpt | optional_unwrapOpt | list(optional_type(<V>)).() | list(<V>)
upperAscii | string_upper_ascii | string.() | string
url | string_to_url | (string) | kubernetes.URL
validate | format-validate | kubernetes.NamedFormat.(string) | optional_type(list(string))
value | optional_value | optional_type(<V>).() | <V>
"""
"""Function, overload id, receiver and parameters, result."""
_PERMISSIONS = "kubernetes.authorization."
"""K. in the table."""

_ORDERED = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
"""The types that have an order, as the functions on lists of them come."""
_COMPARISONS = (
    ("bool", "bool", "bool"),
    *(("int", other, f"int64{suffix}") for other, suffix in (("int", ""), ("double", "_double"), ("uint", "_uint64"))),
    *(("uint", other, f"uint64{suffix}") for other, suffix in (("uint", ""), ("double", "_double"), ("int", "_int64"))),
    *(
        ("double", other, f"double{suffix}")
        for other, suffix in (("double", ""), ("int", "_int64"), ("uint", "_uint64"))
    ),
    *((name, name, name) for name in ("string", "bytes", "timestamp", "duration")),
)
"""Left type, right type, and how overload ids name the two."""
_RELATIONS = {"_<_": "less", "_<=_": "less_equals", "_>_": "greater", "_>=_": "greater_equals"}
_FORMATS = (
    *("byte", "date", "datetime", "dns1035Label", "dns1035LabelPrefix", "dns1123Label", "dns1123LabelPrefix"),
    *("dns1123Subdomain", "dns1123SubdomainPrefix", "labelValue", "qualifiedName", "uri", "uuid"),
)


@cache
def declarations() -> dict[str, tuple[Overload, ...]]:
    """Return the forms of every function."""
    found: dict[str, list[Overload]] = {}
    for line in [*_TABLE.strip().splitlines(), *_repetitive_lines()]:
        function, overload_id, parameters, result = (
            part.strip() for part in line.replace("K.", _PERMISSIONS).split(" | ")
        )
        receiver, _, rest = parameters.partition("(") if parameters.startswith("(") else parameters.partition(".(")
        texts = ([receiver] if receiver else []) + _split(rest[:-1])
        overload = Overload(overload_id, tuple(map(parse_type, texts)), parse_type(result), is_member=bool(receiver))
        found.setdefault(function, []).append(overload)
    return {function: tuple(overloads) for function, overloads in found.items()}


def _split(text: str) -> list[str]:
    """Split at the commas that are in no parentheses."""
    parts: list[str] = []
    depth = start = 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def _repetitive_lines() -> list[str]:
    lines = [
        f"{function} | {relation}_{name} | ({left}, {right}) | bool"
        for function, relation in _RELATIONS.items()
        for left, right, name in _COMPARISONS
    ]
    for name in _ORDERED:
        long_name = parse_type(name).name
        lines += [
            f"isSorted | list_{name}_is_sorted_bool | list({name}).() | bool",
            f"max | list_{name}_max_{name} | list({name}).() | {name}",
            f"min | list_{name}_min_{name} | list({name}).() | {name}",
            f"sort | list_{long_name}_sort | list({name}).() | list({name})",
            f"@sortByAssociatedKeys | list_{long_name}_sortByAssociatedKeys | list(<T>).(list({name})) | list(<T>)",
        ]
    return lines + [f"format.{name} | format.{name} | () | kubernetes.NamedFormat" for name in _FORMATS]
