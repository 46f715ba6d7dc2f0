import pytest
from hypothesis import given, strategies as st

from nodewise.api.objects import Container, ContainerImage, ImageVolumeSource, Volume
from nodewise.plugins.image_locality import ImageLocality, normalized_name
from nodewise.testing.builders import make_node, make_pod
from nodewise.testing.check_plugin import check_plugin
from tests.plugins.answers import scores

MEBIBYTE = 1 << 20
NAMES = ("a:1", "b:latest", "c:3")


def test_it_keeps_to_the_contract_of_plugins() -> None:
    check_plugin(ImageLocality)


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("app", "app:latest"),
        ("app:1", "app:1"),
        ("host:5000/app", "host:5000/app:latest"),
        ("host:5000/app:1", "host:5000/app:1"),
        ("app@sha256:abc", "app@sha256:abc"),
        ("", ":latest"),
    ],
)
def test_a_name_without_a_tag_means_latest(image: str, name: str) -> None:
    assert normalized_name(image) == name


@given(
    st.dictionaries(st.sampled_from(NAMES), st.integers(0, 3000 * MEBIBYTE)),
    st.lists(st.sets(st.sampled_from(NAMES)), min_size=1, max_size=5),
    st.lists(st.sampled_from(("a:1", "b", "c:3", "d")), min_size=1, max_size=4),
    st.lists(st.sampled_from(("a:1", "b")), max_size=2),
)
def test_scores_follow_the_formula_on_each_node(
    sizes: dict[str, int], present: list[set[str]], images: list[str], volumes: list[str]
) -> None:
    nodes = [
        make_node(f"n{index}", images=tuple(ContainerImage((name,), sizes[name]) for name in own if name in sizes))
        for index, own in enumerate(present)
    ]
    pod = make_pod(
        "p",
        init_containers=(Container(image=images[0]),),
        containers=tuple(Container(image=image) for image in images[1:]),
        volumes=tuple(Volume(image=ImageVolumeSource(reference=image)) for image in volumes),
    )
    wanted = [normalized_name(image) for image in (*images, *volumes)]
    low, high = 23 * MEBIBYTE, 1000 * MEBIBYTE * len(wanted)
    expected = {}
    for index, own in enumerate(present):
        total = 0
        for name in wanted:
            if name in own and name in sizes:
                spread = sum(name in other for other in present) / len(nodes)
                total += int(float(sizes[name]) * spread)
        expected[f"n{index}"] = 100 * (min(max(total, low), high) - low) // (high - low)
    assert scores(ImageLocality, pod, nodes) == (expected, expected)


def test_a_pod_without_images_scores_zero() -> None:
    assert scores(ImageLocality, make_pod("p", containers=()), [make_node("n1")]) == ({"n1": 0}, {"n1": 0})
