"""An image as the OCI image specification 1.1 has it (configuration, manifest, index), in one tar
that `docker load` of any version reads too: as `docker save` writes it since version 25, with
manifest.json beside index.json."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from numalab.evidence.record import Json

_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_INDEX = "application/vnd.oci.image.index.v1+json"


@dataclass(frozen=True)
class Layer:
    """file: gzip of a tar; sha256: of the file, diff_sha256: of the tar, both in hex; by: what made
    it, as `docker history` shows it."""

    file: Path
    size_bytes: int
    sha256: str
    diff_sha256: str
    by: str


@dataclass(frozen=True)
class Settings:
    """What runs in a container of the image unless the user says otherwise. user: numeric, so that
    a cluster can see that it is not root."""

    environment: Mapping[str, str]
    user: str
    folder: str
    command: Sequence[str]
    labels: Mapping[str, str]


@dataclass(frozen=True)
class Image:
    """architecture: in Go's words (amd64); created_s: seconds since 1970."""

    name: str
    tag: str
    architecture: str
    created_s: int
    settings: Settings
    layers: Sequence[Layer]


def rfc3339(time_s: int) -> str:
    """A time in seconds since 1970 as labels have it."""
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def config_of(image: Image) -> Json:
    """The image's configuration."""
    created = rfc3339(image.created_s)
    settings = image.settings
    return {
        "architecture": image.architecture,
        "os": "linux",
        "created": created,
        "config": {
            "User": settings.user,
            "Env": [f"{name}={value}" for name, value in settings.environment.items()],
            "Cmd": list(settings.command),
            "WorkingDir": settings.folder,
            "Labels": dict(settings.labels),
        },
        "rootfs": {
            "type": "layers",
            "diff_ids": [f"sha256:{layer.diff_sha256}" for layer in image.layers],
        },
        "history": [{"created": created, "created_by": layer.by} for layer in image.layers],
    }


def _described(media_type: str, sha256: str, size_bytes: int) -> Json:
    return {"mediaType": media_type, "digest": f"sha256:{sha256}", "size": size_bytes}


def manifest_of(image: Image, config: bytes) -> Json:
    """config: the configuration as it is stored."""
    return {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": _described(_CONFIG, hashlib.sha256(config).hexdigest(), len(config)),
        "layers": [_described(_LAYER, layer.sha256, layer.size_bytes) for layer in image.layers],
    }


def index_of(image: Image, manifest: bytes) -> Json:
    """manifest: as it is stored."""
    entry = _described(_MANIFEST, hashlib.sha256(manifest).hexdigest(), len(manifest))
    entry["platform"] = {"architecture": image.architecture, "os": "linux"}
    entry["annotations"] = {
        "org.opencontainers.image.ref.name": image.tag,
        "io.containerd.image.name": f"docker.io/library/{image.name}:{image.tag}",
    }
    return {"schemaVersion": 2, "mediaType": _INDEX, "manifests": [entry]}


def docker_manifest_of(image: Image, config: bytes) -> list[Json]:
    """What `docker load` reads before version 25."""
    return [
        {
            "Config": _blob(hashlib.sha256(config).hexdigest()),
            "RepoTags": [f"{image.name}:{image.tag}"],
            "Layers": [_blob(layer.sha256) for layer in image.layers],
        }
    ]


def _blob(sha256: str) -> str:
    return f"blobs/sha256/{sha256}"


def stored(data: Json | list[Json]) -> bytes:
    """JSON as blobs have it: the same bytes for the same data."""
    return json.dumps(data, separators=(",", ":"), sort_keys=True).encode()


def write_archive(image: Image, target: Path) -> None:
    """Writes the image as an OCI archive: the same bytes for the same image. Raises OSError."""
    config = stored(config_of(image))
    manifest = stored(manifest_of(image, config))
    texts = {
        "oci-layout": stored({"imageLayoutVersion": "1.0.0"}),
        "index.json": stored(index_of(image, manifest)),
        "manifest.json": stored(docker_manifest_of(image, config)),
        _blob(hashlib.sha256(config).hexdigest()): config,
        _blob(hashlib.sha256(manifest).hexdigest()): manifest,
    }
    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as archive:
        for name, content in texts.items():
            archive.addfile(_member(name, len(content), image.created_s), io.BytesIO(content))
        for layer in image.layers:
            with layer.file.open("rb") as file:
                member = _member(_blob(layer.sha256), layer.size_bytes, image.created_s)
                archive.addfile(member, file)


def _member(name: str, size_bytes: int, time_s: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = size_bytes, time_s, 0o644
    return member
