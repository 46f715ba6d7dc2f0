"""Decoding one object: what counts as absent, and how a wrong type is told."""

import pytest

from nodewise.api.decoding import DecodingError, decode_object
from nodewise.api.kinds import KINDS
from nodewise.api.objects import ObjectMeta, Pod, Toleration

POD = KINDS["Pod"]


def decode_pod(text: str) -> Pod:
    pod = decode_object(text.encode(), POD)
    assert isinstance(pod, Pod)
    return pod


def test_null_means_absent_in_structs_and_the_zero_value_in_lists_and_maps() -> None:
    pod = decode_pod(
        '{"metadata": {"name": "a", "labels": {"x": null, "y": "1"}, "annotations": null, "creationTimestamp": null},'
        ' "spec": {"containers": null, "tolerations": [null], "volumes": [{"csi": {"fsType": null}}]}}'
    )
    assert pod.metadata == ObjectMeta(name="a", labels={"x": "", "y": "1"})
    assert pod.spec.tolerations == (Toleration(),)
    assert pod.spec.containers == ()


def test_a_number_keeps_its_digits_when_nulls_elsewhere_are_filled_in() -> None:
    pod = decode_pod(
        '{"metadata": {"labels": {"x": null}}, "spec": {"overhead": {"cpu": 0.10000000000000000001, "memory": 1E3}}}'
    )
    assert pod.spec.overhead == {"cpu": "0.10000000000000000001", "memory": "1E3"}


@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        ('{"spec": {"containers": [{"name": 5}]}}', "spec.containers[0].name", "found the number 5, expected a string"),
        ('{"metadata": {"labels": {"a": "b", "c": true}}}', "metadata.labels[c]", "found true, expected a string"),
        (
            '{"spec": {"containers": [{}, {"ports": [{"containerPort": "80"}]}]}}',
            "spec.containers[1].ports[0].containerPort",
            'found the string "80", expected an integer',
        ),
        ('{"spec": {"priority": 3.0}}', "spec.priority", "found the number 3.0, expected an integer"),
        ('{"spec": {"priority": 2147483648}}', "spec.priority", "found the number 2147483648, expected an integer <="),
        ('{"spec": {"hostNetwork": "yes"}}', "spec.hostNetwork", 'found the string "yes", expected true or false'),
        ('{"spec": []}', "spec", "found a list, expected a mapping"),
        ('{"spec": {"containers": {}}}', "spec.containers", "found a mapping, expected a list"),
        ('{"metadata": {"labels": {"a": null}, "name": 1}}', "metadata.name", "found the number 1, expected a string"),
        ('{"metadata": {"creationTimestamp": "yesterday"}}', "metadata.creationTimestamp", "invalid RFC3339"),
        ('{"metadata": {"creationTimestamp": "2026-01-01T00:00:00"}}', "metadata.creationTimestamp", "RFC 3339"),
    ],
)
def test_a_wrong_type_is_told_with_the_field_what_was_found_and_what_was_expected(
    text: str, field: str, message: str
) -> None:
    with pytest.raises(DecodingError) as caught:
        decode_pod(text)
    assert caught.value.field == field
    assert message in caught.value.message


@pytest.mark.parametrize("text", ["{", '{"a": NaN}', '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", ""])
def test_text_that_is_not_json_is_one_error_without_a_field(text: str) -> None:
    with pytest.raises(DecodingError) as caught:
        decode_pod(text)
    assert caught.value.field == ""


def test_a_long_value_is_shown_shortened() -> None:
    with pytest.raises(DecodingError) as caught:
        decode_pod('{"spec": {"hostNetwork": "' + "x" * 10_000 + '"}}')
    assert len(caught.value.message) < 200
