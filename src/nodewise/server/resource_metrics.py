"""What every pod requests and is limited to, for /metrics/resources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from nodewise.api.objects import Pod
from nodewise.api.pod_level_resources import aggregate, is_pod_level_resource
from nodewise.api.quantity import Quantity, parse_quantity
from nodewise.api.resources import request_quantities
from nodewise.errors import QuantityError
from nodewise.server.metric_catalog import POD_LIMIT, POD_REQUEST
from nodewise.server.metric_values import Description, Labels, numbers_family

Amounts = Mapping[str, Quantity]
_UNITS = {"cpu": "cores", "memory": "bytes", "storage": "bytes", "ephemeral-storage": "bytes"}
_ENDED = ("Succeeded", "Failed")


class ResourceMetrics(Collector):
    """Reads the pods when somebody asks (podResourceCollector).

    Pods on a node that have ended are left out.

    Parameters
    ----------
    pods : Callable[[], Iterable[Pod]]
        All pods as they are known now; called in another thread, so that it has to give a copy.
    """

    def __init__(self, pods: Callable[[], Iterable[Pod]]) -> None:
        self._pods = pods

    def collect(self) -> Iterable[Metric]:
        """Return both metrics."""
        pods = [pod for pod in self._pods() if not (pod.spec.node_name and pod.status.phase in _ENDED)]
        return [self._family(POD_REQUEST, pods, _requests), self._family(POD_LIMIT, pods, limit_quantities)]

    @staticmethod
    def _family(description: Description, pods: Iterable[Pod], amounts_of: Callable[[Pod], Amounts]) -> Metric:
        return numbers_family(description, (value for pod in pods for value in _values(pod, amounts_of)))


def limit_quantities(pod: Pod) -> Amounts:
    """Return the pod's effective limits; overhead only where there is a limit (component-helpers PodLimits)."""
    limits = aggregate(pod.spec, "limits")
    if pod.spec.resources is not None:
        own = pod.spec.resources.limits
        limits.update({name: parse_quantity(raw) for name, raw in own.items() if is_pod_level_resource(name)})
    for name, raw in pod.spec.overhead.items():
        if name in limits and limits[name].sign:
            limits[name] = limits[name] + parse_quantity(raw)
    return limits


def _requests(pod: Pod) -> Amounts:
    return request_quantities(pod, use_status=False)


def _values(pod: Pod, amounts_of: Callable[[Pod], Amounts]) -> Iterator[tuple[Labels, float]]:
    spec, metadata = pod.spec, pod.metadata
    priority = "" if spec.priority is None else str(spec.priority)
    try:
        amounts = amounts_of(pod)
    except QuantityError:
        return
    for name, amount in amounts.items():
        value = _number(amount)
        if value:
            unit = _unit(name)
            yield (
                (metadata.namespace, metadata.name, spec.node_name, spec.scheduler_name, priority, name, unit),
                value,
            )


def _unit(resource: str) -> str:
    if resource.startswith("hugepages-"):
        return "bytes"
    return "integer" if resource.startswith("attachable-volumes-") else _UNITS.get(resource, "")


def _number(amount: Quantity) -> float:
    unscaled, exponent = amount.unscaled, amount.exponent
    return float(unscaled * 10**exponent) if exponent >= 0 else unscaled / 10**-exponent
