"""Old configurations into new ones: what a file is, and the v1 configuration that says the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nodewise.config.documents import Fields, is_json, read_json, read_yaml
from nodewise.config.encode import extender_document
from nodewise.config.errors import ConfigError
from nodewise.config.legacy_configuration import (
    ReadFile,
    algorithm_source,
    an_object,
    objects,
    provider_algorithm,
    top_level_fields,
    translated_profile,
)
from nodewise.config.legacy_names import DEFAULT_PREDICATES, PROVIDERS
from nodewise.config.legacy_profile import LegacyAlgorithm, ProfileMaker, algorithm_of_keys
from nodewise.config.load import interpret, plain
from nodewise.config.model import API_GROUP, API_VERSION, KIND, Extender
from nodewise.config.policy import KIND as POLICY_KIND, algorithm_of_policy, as_extender, read_policy

Document = dict[str, Any]
_OLD_VERSIONS = ("componentconfig/v1alpha1", *(f"{API_GROUP}/{version}" for version in ("v1alpha1", "v1alpha2")))
_BETA_VERSIONS = tuple(f"{API_GROUP}/v1beta{number}" for number in (1, 2, 3))
_LAST_WITH_OLD_WEIGHTS = f"{API_GROUP}/v1beta2"
_POLICY_FIELDS = ("predicates", "priorities", "extenders", "hardPodAffinitySymmetricWeight", "alwaysCheckAllPredicates")


@dataclass(slots=True)
class Translation:
    """A v1 configuration, and what could not be said in it.

    Attributes
    ----------
    document : dict
        JSON values; a KubeSchedulerConfiguration without defaults.
    notes : list[str]
    """

    document: Document
    notes: list[str] = field(default_factory=list)


def is_old(data: bytes) -> bool:
    """Return whether a text is a Policy or a configuration of a version before v1."""
    try:
        tree = _read(data)
        meta = interpret(tree)
    except ConfigError:
        return False
    return _is_policy(tree, meta.kind) or (meta.kind == KIND and meta.api_version in (*_OLD_VERSIONS, *_BETA_VERSIONS))


def translate(data: bytes, read_file: ReadFile) -> Translation:
    """Translate a Policy or an old configuration.

    Parameters
    ----------
    read_file
        Gives the content of a policy file that a v1alpha1 configuration names.

    Raises
    ------
    ConfigError
        When it is neither, or is one that older versions refused.
    """
    tree = _read(data)
    meta = interpret(tree)
    if _is_policy(tree, meta.kind):
        return _of_policy(tree, None)
    if meta.kind != KIND or meta.api_version not in (*_OLD_VERSIONS, *_BETA_VERSIONS, API_VERSION):
        wanted = "expected a Policy of v1 or an old KubeSchedulerConfiguration"
        raise ConfigError(f"found kind {meta.kind!r} of {meta.api_version!r}, {wanted}")
    old = an_object(plain(tree), "the configuration")
    if meta.api_version == API_VERSION:
        return Translation(old, [f"it is of {API_VERSION} already"])
    fields, notes = top_level_fields(old)
    if meta.api_version in _BETA_VERSIONS:
        return _of_beta(old, fields, notes, has_old_weights=meta.api_version <= _LAST_WITH_OLD_WEIGHTS)
    return _of_alpha(old, fields, notes, read_file)


def translate_keys(predicates: Iterable[str] | None, priorities: Mapping[str, int] | None) -> Translation:
    """Translate plain sets of predicate and priority names; None stands for those of DefaultProvider.

    Raises
    ------
    ConfigError
        When there never was a predicate or priority of some name.
    """
    if predicates is None:
        predicates = DEFAULT_PREDICATES
    if priorities is None:
        priorities = PROVIDERS["DefaultProvider"]
    return _of_algorithm(algorithm_of_keys(predicates, priorities))


def translate_provider(name: str) -> Translation:
    """Translate an algorithm provider: DefaultProvider or ClusterAutoscalerProvider.

    Raises
    ------
    ConfigError
        When there was no provider of this name.
    """
    return _of_algorithm(provider_algorithm(name))


def _read(data: bytes) -> Any:
    return read_json(data) if is_json(data) else read_yaml(data)[0]


def _is_policy(tree: Any, kind: str) -> bool:
    """Return whether a tree is a policy; some files leave out the kind."""
    if kind == POLICY_KIND:
        return True
    return not kind and isinstance(tree, Fields) and any(name in _POLICY_FIELDS for name, _ in tree)


def _of_policy(tree: Fields, scheduler_name: str | None) -> Translation:
    policy, notes = read_policy(tree)
    algorithm, more_notes = algorithm_of_policy(policy)
    extenders = [as_extender(extender) for extender in policy.extenders]
    return _of_algorithm(algorithm, scheduler_name, [*notes, *more_notes], extenders)


def _of_algorithm(
    algorithm: LegacyAlgorithm,
    scheduler_name: str | None = None,
    notes: Iterable[str] = (),
    extenders: Iterable[Extender] = (),
) -> Translation:
    maker = ProfileMaker(algorithm)
    document: Document = {"apiVersion": API_VERSION, "kind": KIND, "profiles": [maker.make(scheduler_name)]}
    shown = [extender_document(extender) for extender in extenders]
    if shown:
        document["extenders"] = shown
    return Translation(document, [*notes, *maker.notes])


def _of_alpha(old: Document, fields: Document, notes: list[str], read_file: ReadFile) -> Translation:
    """Translate a configuration with an algorithm source."""
    provider, policy_text = algorithm_source(old, read_file)
    scheduler_name = old.get("schedulerName")
    extenders: list[Extender] = []
    if provider:
        algorithm = provider_algorithm(provider)
    else:
        policy, policy_notes = read_policy(_read(policy_text))
        algorithm, more_notes = algorithm_of_policy(policy)
        notes = [*notes, *policy_notes, *more_notes]
        extenders = [as_extender(extender) for extender in policy.extenders]
    if old.get("hardPodAffinitySymmetricWeight") and algorithm.hard_affinity_weight is None:
        algorithm.hard_affinity_weight = old["hardPodAffinitySymmetricWeight"]
    algorithm.preempts = not old.get("disablePreemption")
    algorithm.bind_timeout_seconds = old.get("bindTimeoutSeconds")
    for name in ("plugins", "pluginConfig"):
        if old.get(name):
            notes.append(f"{name} of a configuration with an algorithm source has no successor: name them in a profile")
    translation = _of_algorithm(algorithm, scheduler_name, notes, extenders)
    translation.document |= fields
    return translation


def _of_beta(old: Document, fields: Document, notes: list[str], *, has_old_weights: bool) -> Translation:
    """Translate a configuration with profiles."""
    profiles: list[Document] = []
    if old.get("disablePreemption"):
        notes.append("disablePreemption has no successor: disable DefaultPreemption at postFilter")
    for profile in objects(old.get("profiles"), "profiles") or [{}]:
        translated, profile_notes = translated_profile(profile, has_old_weights=has_old_weights)
        profiles.append(translated)
        notes += [note for note in profile_notes if note not in notes]
    return Translation({"apiVersion": API_VERSION, "kind": KIND, **fields, "profiles": profiles}, notes)
