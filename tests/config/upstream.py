"""What kube-scheduler makes of configuration files, by the oracle."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from nodewise.config.encode import configuration_document
from nodewise.config.errors import ConfigError
from nodewise.config.extender_validation import with_ignored_resources
from nodewise.config.feature_gates import DEFAULT_GATES, FeatureGates
from nodewise.config.load import load_configuration
from nodewise.config.plugins import expand_profiles

Verdict = dict[str, Any]
"""`error`, or `config` (what --write-config-to writes) and `plugins` (by scheduler name and extension point)."""


def upstream_verdicts(oracle: Path, files: Iterable[Path], gates: str = "") -> list[Verdict]:
    """Judge files by the real code, in one process."""
    command = [str(oracle), "config", "--feature-gates", gates, *map(str, files)]
    output = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    verdicts = []
    for line in output.splitlines():
        found = json.loads(line)
        if "error" in found:
            verdicts.append({"error": found["error"]})
        else:
            verdicts.append({"config": found["config"], "plugins": found["plugins"]})
    return verdicts


def own_verdict(file: Path | bytes, gates: FeatureGates = DEFAULT_GATES) -> Verdict:
    """Judge a file, or the text of one, by the code under test."""
    try:
        configuration = load_configuration(file, gates)
        profiles = with_ignored_resources(configuration.profiles, configuration.extenders)
        configuration = msgspec.structs.replace(configuration, profiles=profiles)
        expanded = expand_profiles(configuration)
    except ConfigError as error:
        return {"error": str(error)}
    plugins = {
        name: {
            point: [{"name": ref.name} | ({"weight": ref.weight} if ref.weight else {}) for ref in refs]
            for point, refs in points.items()
            if refs
        }
        for name, points in expanded.items()
    }
    return {"config": configuration_document(configuration), "plugins": plugins}


def write_configurations(folder: Path, trees: Iterable[Any]) -> list[Path]:
    """Write configurations as JSON files."""
    files = []
    for number, tree in enumerate(trees):
        files.append(folder / f"{number}.json")
        files[-1].write_text(json.dumps(tree))
    return files
