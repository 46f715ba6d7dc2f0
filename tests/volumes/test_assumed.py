from nodewise.api.objects import replace
from nodewise.api.storage import PersistentVolume
from nodewise.state.storage_listers import StorageListers
from nodewise.testing.storage_builders import make_claim, make_volume
from nodewise.volumes.assumed import AssumedStorage


def with_version(volume: PersistentVolume, version: str) -> PersistentVolume:
    return replace(volume, metadata=replace(volume.metadata, resource_version=version))


def test_what_is_assumed_of_a_volume_counts_until_the_api_says_otherwise() -> None:
    api, claim = StorageListers(), make_claim("data")
    storage = AssumedStorage(api)
    free = with_version(make_volume("v", storage_class="local"), "1")
    bound = with_version(make_volume("v", storage_class="local", claim=claim), "1")
    api.fill([claim, free])
    before = storage.class_version("local")

    storage.assume_volume(bound)
    assert list(storage.volumes_of("local")) == [bound]
    assert api.volumes["v"] is free
    assert storage.is_claimed_for(claim)
    assert storage.class_version("local") != before

    api.put(free)  # the same version again is no news
    assert storage.volume("v") is bound
    newer = with_version(free, "2")
    api.put(newer)
    assert storage.volume("v") is newer
    assert list(storage.volumes_of("local")) == [newer]


def test_an_assumption_can_be_taken_back() -> None:
    api, claim = StorageListers(), make_claim("data")
    storage = AssumedStorage(api)
    free = make_volume("v", storage_class="local")
    api.fill([claim, free])
    storage.assume_volume(make_volume("v", storage_class="local", claim=claim))
    storage.assume_claim(make_claim("data", annotations={"volume.kubernetes.io/selected-node": "n1"}))
    assert storage.claim("default/data") != claim
    storage.restore_volume("v")
    storage.restore_claim("default/data")
    assert storage.claim("default/data") is claim
    assert storage.volume("v") is free
    assert not storage.is_claimed_for(claim)


def test_each_scheduler_profile_assumes_for_itself() -> None:
    api, claim = StorageListers(), make_claim("data")
    api.fill([claim, make_volume("v", storage_class="local")])
    mine, other = AssumedStorage(api), AssumedStorage(api)
    mine.assume_volume(make_volume("v", storage_class="local", claim=claim))
    assert mine.is_claimed_for(claim)
    assert not other.is_claimed_for(claim)


def test_nothing_is_assumed_of_an_object_that_is_gone() -> None:
    api, claim = StorageListers(), make_claim("data")
    storage = AssumedStorage(api)
    volume = make_volume("v", storage_class="local")
    api.fill([claim, volume])
    storage.assume_volume(make_volume("v", storage_class="local", claim=claim))
    api.remove(volume)
    assert storage.volume("v") is None
    assert list(storage.volumes_of("local")) == []
