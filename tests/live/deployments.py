"""The deployment files as kubectl and helm render them, and who their service accounts are."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.live.api_server import ROOT, ApiServer

DEPLOY = ROOT / "deploy"
OVERLAYS = DEPLOY / "kustomize" / "overlays"
CHART = DEPLOY / "helm" / "nodewise"
Objects = list[dict[str, Any]]


@dataclass(frozen=True)
class Account:
    """The service account of an overlay, and the lease that it may hold."""

    overlay: str
    namespace: str
    name: str
    lease: tuple[str, str] | None

    @property
    def user(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.name}"


SECOND = Account("second-scheduler", "nodewise-system", "nodewise", ("nodewise-system", "nodewise"))
REPLACEMENT = Account("replacement", "kube-system", "nodewise-replacement", ("kube-system", "kube-scheduler"))
SHADOW = Account("shadow", "nodewise-shadow", "nodewise-shadow", None)
ACCOUNTS = (SECOND, REPLACEMENT, SHADOW)


def kubectl(*arguments: str, server: ApiServer | None = None, stdin: str | None = None) -> str:
    """Run kubectl and return what it prints."""
    folder = os.environ.get("NODEWISE_KUBE_BIN") or "~/.cache/nodewise/kube-1.37.2"
    to = ["--kubeconfig", server.kubeconfig] if server is not None else []
    return _run([str(Path(folder).expanduser() / "kubectl"), *to, *arguments], stdin)


def find_helm() -> str | None:
    """Return where helm is: built by tools/build-helm, or on PATH."""
    folder = os.environ.get("NODEWISE_HELM_BIN") or "~/.cache/nodewise/helm-3.19.0"
    built = Path(folder).expanduser() / "helm"
    return str(built) if built.is_file() else shutil.which("helm")


def helm(*arguments: str) -> str:
    """Run helm and return what it prints."""
    command = find_helm()
    assert command is not None
    return _run([command, *arguments], None)


def rendered(overlay: str) -> Objects:
    """Return the objects of an overlay."""
    return objects_in(kubectl("kustomize", str(OVERLAYS / overlay)))


def objects_in(text: str) -> Objects:
    return [document for document in yaml.safe_load_all(text) if document]


def one(objects: Objects, kind: str, start: str = "") -> dict[str, Any]:
    """Return the one object of a kind whose name starts so."""
    (found,) = [obj for obj in objects if obj["kind"] == kind and obj["metadata"]["name"].startswith(start)]
    return found


def apply(server: ApiServer, account: Account) -> None:
    """Apply an overlay; several tests may do so at once."""
    folder = str(OVERLAYS / account.overlay)
    kubectl("apply", "--server-side", "--force-conflicts", "--validate=strict", "-k", folder, server=server)


def kubeconfig_of(server: ApiServer, account: Account, folder: Path) -> str:
    """Write a kubeconfig with a token of a service account, and return where it is."""
    token = kubectl("create", "token", account.name, "-n", account.namespace, server=server).strip()
    document = yaml.safe_load(Path(server.kubeconfig).read_text())
    (user,) = document["users"]
    user["user"] = {"token": token}
    path = folder / f"{account.name}.kubeconfig"
    path.write_text(json.dumps(document))
    return str(path)


def _run(command: list[str], stdin: str | None) -> str:
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr or done.stdout}"
    return done.stdout
