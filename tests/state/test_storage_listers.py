from nodewise.api.objects import ObjectMeta
from nodewise.api.storage import VolumeAttachment, VolumeAttachmentSource, VolumeAttachmentSpec
from nodewise.state.storage_listers import StorageListers
from nodewise.testing.storage_builders import make_claim, make_volume


def test_a_volume_that_goes_is_in_no_class_and_for_no_claim() -> None:
    storage, claim = StorageListers(), make_claim("data")
    volume = make_volume("v", storage_class="local", claim=claim)
    storage.fill([claim, volume])
    storage.remove(volume)
    assert storage.volumes == {}
    assert list(storage.volumes_of("local")) == []
    assert not storage.is_claimed_for("default/data")


def test_a_volume_moves_with_its_class() -> None:
    storage = StorageListers()
    storage.fill([make_volume("v", storage_class="old"), make_volume("v", storage_class="new")])
    assert list(storage.volumes_of("old")) == []
    assert [volume.metadata.name for volume in storage.volumes_of("new")] == ["v"]


def test_an_attachment_is_at_one_node_at_a_time() -> None:
    def attachment(node_name: str) -> VolumeAttachment:
        spec = VolumeAttachmentSpec("csi.test", node_name, VolumeAttachmentSource("v"))
        return VolumeAttachment(ObjectMeta(name="a"), spec)

    storage = StorageListers()
    storage.fill([attachment("n1"), attachment("n2")])
    assert [sorted(storage.attachments.get(name, {})) for name in ("n1", "n2")] == [[], ["a"]]
    storage.remove(attachment("n2"))
    assert not storage.attachments["n2"]
