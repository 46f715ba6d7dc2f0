"""Checks of extenders (validateExtenders), and what they change in the profiles."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from nodewise.api.resources import is_extended_resource_name
from nodewise.api.selectors import label_key_errors
from nodewise.config.arguments import NodeResourcesFitArgs
from nodewise.config.errors import ConfigError
from nodewise.config.field_messages import invalid
from nodewise.config.go_text import json_text, quote
from nodewise.config.model import Extender, PluginConfig, Profile

_FIT = "NodeResourcesFit"


def extender_errors(extenders: Sequence[Extender]) -> list[str]:
    """Return everything that is wrong with extenders, in kube-scheduler's order and words."""
    errors: list[str] = []
    managed: set[str] = set()
    for index, extender in enumerate(extenders):
        path = f"extenders[{index}]"
        if extender.prioritize_verb and extender.weight <= 0:
            errors.append(invalid(f"{path}.weight", extender.weight, "must have a positive weight applied to it"))
        for position, resource in enumerate(extender.managed_resources):
            at = f"{path}.managedResources[{position}].name"
            # printed as JSON, since it is no plain string
            wrong = [invalid(at, json_text(resource.name), message) for message in label_key_errors(resource.name)]
            if not wrong and not is_extended_resource_name(resource.name):
                wrong = [invalid(at, quote(resource.name), "is an invalid extended resource name")]
            errors += wrong
            if resource.name in managed:
                errors.append(invalid(at, quote(resource.name), "duplicate extender managed resource name"))
            managed.add(resource.name)
    n_binders = sum(bool(extender.bind_verb) for extender in extenders)
    if n_binders > 1:
        shown = quote(f"found {n_binders} extenders implementing bind")
        errors.append(invalid("extenders", shown, "only one extender can implement bind"))
    return errors


def in_calling_order(extenders: Sequence[Extender]) -> list[Extender]:
    """Return extenders in the order in which they are asked: those that may be ignored come last."""
    return sorted(extenders, key=lambda extender: extender.ignorable)


def with_ignored_resources(profiles: Sequence[Profile], extenders: Sequence[Extender]) -> tuple[Profile, ...]:
    """Return profiles whose NodeResourcesFit leaves the resources to extenders that these ask it to ignore.

    They take the place of what the plugin's arguments say (buildExtenders).

    Raises
    ------
    ConfigError
        A profile has no arguments of NodeResourcesFit.
    """
    ignored = tuple(
        resource.name
        for extender in extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )
    return tuple(_ignoring(profile, ignored) for profile in profiles) if ignored else tuple(profiles)


def _ignoring(profile: Profile, ignored: tuple[str, ...]) -> Profile:
    configs = list(profile.plugin_config)
    for position, config in enumerate(configs):
        if config.name == _FIT and isinstance(config.args, NodeResourcesFitArgs):
            configs[position] = PluginConfig(_FIT, replace(config.args, ignored_resources=ignored))
            return replace(profile, plugin_config=tuple(configs))
    raise ConfigError("couldn't build extenders: can't find NodeResourcesFitArgs in plugin config")
