"""Finds the cluster and the user: kubeconfig files, $KUBECONFIG, or the service account of the pod we run in.

kubernetes_asyncio knows the many ways in which a user can prove who it is. What it lacks is here: files are merged as
kubectl merges them (the first one that names something wins, relative paths are those of the file they stand in), and
credentials are renewed for as long as the process runs.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import yaml
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException
from kubernetes_asyncio.config.incluster_config import (
    SERVICE_CERT_FILENAME,
    SERVICE_HOST_ENV_NAME,
    SERVICE_TOKEN_FILENAME,
    InClusterConfigLoader,
)
from kubernetes_asyncio.config.kube_config import KubeConfigLoader

from nodewise.clock import Clock, SystemClock
from nodewise.cluster.live.connection import Connection, Credentials, NoHeaders
from nodewise.cluster.live.credentials import CertificateFiles, ExecPlugin, FixedHeaders, RenewedToken, TokenFile
from nodewise.cluster.live.errors import KubeconfigError

_LISTS = {"clusters": "cluster", "contexts": "context", "users": "user"}
_PATHS = {"clusters": ("certificate-authority",), "users": ("client-certificate", "client-key", "tokenFile")}
_NAMESPACE_FILE = "namespace"


async def load_connection(
    kubeconfig: str = "",
    context: str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    clock: Clock | None = None,
) -> Connection:
    """Return how to reach the cluster, as kubectl would find it.

    Parameters
    ----------
    kubeconfig : str
        A file; empty: those of $KUBECONFIG, else `~/.kube/config`, else the service account of this pod.
    context : str | None
        A context of the kubeconfig; None: the current one.
    environ : Mapping[str, str] | None
        The environment; None: that of the process.
    clock : Clock | None
        Tells when files are read again.

    Raises
    ------
    KubeconfigError
        There is none, it is broken, or it names something that is not in it.
    """
    environ = os.environ if environ is None else environ
    clock = clock or SystemClock()
    paths = _find_files(kubeconfig, environ)
    if not paths:
        if context is None and environ.get(SERVICE_HOST_ENV_NAME):
            return in_cluster_connection(environ=environ, clock=clock)
        raise KubeconfigError("no kubeconfig found: give --kubeconfig or set KUBECONFIG")
    return await _from_files(paths, context, clock)


def in_cluster_connection(
    *,
    environ: Mapping[str, str],
    clock: Clock,
    token_file: str = SERVICE_TOKEN_FILENAME,
    certificate_file: str = SERVICE_CERT_FILENAME,
) -> Connection:
    """Return how a pod reaches the API server of its cluster.

    Raises
    ------
    KubeconfigError
        This is no pod, or one without a service account.
    """
    loader = InClusterConfigLoader(token_file, certificate_file, environ=dict(environ))
    configuration = Configuration()
    try:
        loader.load_and_set(configuration)
    except (ConfigException, OSError) as error:
        raise KubeconfigError(f"service account of this pod: {error}") from error
    namespace_file = Path(token_file).with_name(_NAMESPACE_FILE)
    namespace = namespace_file.read_text().strip() if namespace_file.is_file() else "default"
    tls = _tls_context(configuration)
    return Connection(str(configuration.host).rstrip("/"), tls, TokenFile(token_file, clock), namespace=namespace)


def _find_files(kubeconfig: str, environ: Mapping[str, str]) -> list[Path]:
    """Return the files to read; one that was named must exist, those of a list need not (as in kubectl)."""
    if kubeconfig:
        path = Path(kubeconfig).expanduser()
        if not path.is_file():
            raise KubeconfigError(f"kubeconfig {kubeconfig}: no such file")
        return [path]
    named = [Path(name).expanduser() for name in environ.get("KUBECONFIG", "").split(os.pathsep) if name]
    if not named:
        named = [Path(environ.get("HOME", "~")).expanduser() / ".kube" / "config"]
    return [path for path in named if path.is_file()]


# --- reading and merging files ----------------------------------------------------------------------------------------


def _merge(paths: list[Path]) -> dict[str, Any]:
    merged: dict[str, Any] = {name: {} for name in _LISTS}
    merged["current-context"] = ""
    for path in paths:
        document = _read(path)
        merged["current-context"] = merged["current-context"] or document.get("current-context") or ""
        for name, inner in _LISTS.items():
            for item in document.get(name) or ():
                if not isinstance(item, dict) or not isinstance(item.get("name"), str):
                    raise KubeconfigError(f"kubeconfig {path}: {name}: found {item!r}, expected a mapping with a name")
                content = item.get(inner)
                if content is not None and not isinstance(content, dict):
                    raise KubeconfigError(
                        f"kubeconfig {path}: {name}[{item['name']}].{inner}: found {content!r}, expected a mapping"
                    )
                merged[name].setdefault(item["name"], _with_absolute_paths(name, dict(content or {}), path))
    return merged


def _read(path: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(path.read_bytes())
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise KubeconfigError(f"kubeconfig {path}: {' '.join(str(error).split())}") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise KubeconfigError(f"kubeconfig {path}: found {type(document).__name__}, expected a mapping")
    for name in _LISTS:
        if not isinstance(document.get(name) or [], list):
            raise KubeconfigError(f"kubeconfig {path}: {name}: found {document[name]!r}, expected a list")
    return document


def _with_absolute_paths(name: str, content: dict[str, Any], path: Path) -> dict[str, Any]:
    """Resolve paths by the folder of the file that they stand in, that of an exec plugin included."""
    folder = path.absolute().parent
    for key in _PATHS.get(name, ()):
        if content.get(key):
            content[key] = str(folder / str(content[key]))
    plugin = content.get("exec")
    if name == "users" and isinstance(plugin, dict):
        command = str(plugin.get("command") or "")
        if os.sep in command:
            content["exec"] = {**plugin, "command": str(folder / command)}
    return content


# --- from a context to a connection -----------------------------------------------------------------------------------


async def _from_files(paths: list[Path], context: str | None, clock: Clock) -> Connection:
    merged = _merge(paths)
    where = os.pathsep.join(map(str, paths))
    name = context or merged["current-context"]
    if not name:
        raise KubeconfigError(f"kubeconfig {where}: no current-context; give --context")
    chosen = _named(merged, "contexts", name, where)
    cluster = _named(merged, "clusters", str(chosen.get("cluster") or ""), where)
    user = _named(merged, "users", str(chosen["user"]), where) if chosen.get("user") else {}
    if not isinstance(cluster.get("server"), str):
        raise KubeconfigError(
            f"kubeconfig {where}: clusters[{chosen.get('cluster')}].cluster.server: found {cluster.get('server')!r}, "
            "expected a URL"
        )
    try:
        return await _connect(cluster, user, str(chosen.get("namespace") or "default"), clock)
    except (ConfigException, OSError, ValueError) as error:
        raise KubeconfigError(f"kubeconfig {where}: context {name}: {error}") from error


def _named(merged: Mapping[str, Any], kind: str, name: str, where: str) -> dict[str, Any]:
    found: dict[str, Any] | None = merged[kind].get(name)
    if found is None:
        raise KubeconfigError(f"kubeconfig {where}: {kind} has no {name!r}, but {sorted(merged[kind])}")
    return found


async def _connect(cluster: dict[str, Any], user: dict[str, Any], namespace: str, clock: Clock) -> Connection:
    """Let the library read certificates and tokens, and keep those that change up to date ourselves."""
    token_file, plugin = user.get("tokenFile"), user.get("exec")
    plain = {key: value for key, value in user.items() if key not in ("tokenFile", "exec")}
    if token_file:
        plain.pop("token", None)
    loader = KubeConfigLoader(
        {
            "current-context": "it",
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "clusters": [{"name": "it", "cluster": cluster}],
            # the library takes an empty list of users, or an empty user, for none at all
            "users": [{"name": "it", "user": {**plain, "_": ""}}],
        }
    )
    configuration = Configuration()
    await loader.load_and_set(configuration)
    tls = _tls_context(configuration) if cluster["server"].startswith("https") else None
    credentials: Credentials = NoHeaders()
    if tls is not None and configuration.cert_file:
        credentials = CertificateFiles(tls, configuration.cert_file, configuration.key_file, clock)
    if token_file:
        credentials = TokenFile(str(token_file), clock)
    elif isinstance(plugin, dict):
        credentials = ExecPlugin(plugin, tls)
    elif _provider(user) in ("oidc", "gcp"):
        credentials = RenewedToken(_fetch_with(loader, _provider(user)), clock)
    elif configuration.api_key.get("BearerToken"):
        credentials = FixedHeaders(configuration.api_key["BearerToken"])
    return Connection(
        base_url=str(cluster["server"]).rstrip("/"),
        tls=tls,
        credentials=credentials,
        server_name=cluster.get("tls-server-name") or None,
        proxy=cluster.get("proxy-url") or None,
        namespace=namespace,
    )


def _provider(user: Mapping[str, Any]) -> str:
    provider = user.get("auth-provider")
    return str(provider.get("name")) if isinstance(provider, dict) else ""


def _fetch_with(loader: KubeConfigLoader, provider: str) -> Callable[[], Awaitable[str]]:
    async def fetch() -> str:
        try:
            await loader._load_authentication()
        except (ConfigException, OSError, ValueError) as error:
            raise KubeconfigError(f"identity provider {provider}: {error}") from error
        return loader.token

    return fetch


def _tls_context(configuration: Configuration) -> ssl.SSLContext:
    """Return a TLS context that knows the cluster's authority; it is as strict about certificates as Go is."""
    tls = ssl.create_default_context(cafile=configuration.ssl_ca_cert or None)
    tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not configuration.verify_ssl:
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    return tls
