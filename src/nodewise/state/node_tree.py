"""Node names grouped by zone, and the round-robin order over zones that a search follows."""

from __future__ import annotations

from nodewise.api.objects import Node
from nodewise.config.go_text import quote

ZONE_LABELS = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
REGION_LABELS = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")


def zone_key(node: Node) -> str:
    """Return the key of the zone a node is in, "" for none (utilnode.GetZoneKey; the older labels win)."""
    labels = node.metadata.labels
    region = labels.get(REGION_LABELS[0]) or labels.get(REGION_LABELS[1], "")
    zone = labels.get(ZONE_LABELS[0]) or labels.get(ZONE_LABELS[1], "")
    return f"{region}:\x00:{zone}" if region or zone else ""


def not_in_tree(node: Node | str) -> str:
    """Return the text about a node to be removed that is not in the tree; of a mere name no zone is known."""
    name, zone = (node, "") if isinstance(node, str) else (node.name, zone_key(node))
    return f"node {quote(name)} in group {quote(zone)} was not found"


class NodeTree:
    """Zones in the order they appeared, node names in the order they joined their zone.

    Attributes
    ----------
    version : int
        Grows when the order may differ.
    """

    def __init__(self) -> None:
        self.version = 0
        self._zones: dict[str, dict[str, None]] = {}
        self._zone_of: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._zone_of)

    def __contains__(self, name: str) -> bool:
        return name in self._zone_of

    def add_node(self, node: Node) -> None:
        """Add a node, or move it when its zone changed."""
        zone = zone_key(node)
        known = self._zone_of.get(node.name)
        if known == zone:
            return
        if known is not None:
            self.remove_node(node.name)
        self._zones.setdefault(zone, {})[node.name] = None
        self._zone_of[node.name] = zone
        self.version += 1

    def remove_node(self, name: str) -> bool:
        """Remove a node; a zone left empty loses its place. False when the node is not here."""
        zone = self._zone_of.pop(name, None)
        if zone is None:
            return False
        members = self._zones[zone]
        del members[name]
        if not members:
            del self._zones[zone]
        self.version += 1
        return True

    def list(self) -> list[str]:
        """Return all names: the first of every zone, then the second of every zone, and so on."""
        names: list[str] = []
        zones = [list(members) for members in self._zones.values()]
        position = 0
        while zones:
            names.extend(zone[position] for zone in zones)
            position += 1
            zones = [zone for zone in zones if len(zone) > position]
        return names
