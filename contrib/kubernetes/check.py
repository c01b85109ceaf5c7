#!/usr/bin/env python3
"""Holds the manifests of this folder against the published schemas of Kubernetes, unknown fields
included: `check.py`, with the package kubernetes-validate."""

import sys
from pathlib import Path

import kubernetes_validate
import yaml

folder = Path(__file__).parent
# Kubernetes publishes no schema of what is another project's.
OTHERS = {"monitoring.coreos.com/v1"}


def absent(path, manifest):
    """Which files a kustomization names that are not there."""
    generators = manifest.get("configMapGenerator", [])
    named = manifest["resources"] + [file for generator in generators for file in generator["files"]]
    return [name for name in named if not (path.parent / name).is_file()]


checked = 0
for path in sorted(folder.glob("*.yaml")) + sorted(folder.glob("export/*.yaml")):
    for manifest in yaml.safe_load_all(path.read_text()):
        if manifest["kind"] in ("Kustomization", "Component"):
            if missing := absent(path, manifest):
                sys.exit(f"{path}: there is no {missing}")
        elif manifest["apiVersion"] not in OTHERS:
            kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)
            checked += 1
print(f"ok kubernetes: {checked} manifests fit the schemas of {kubernetes_validate.latest_version()}")
