#!/usr/bin/env python3
"""Holds the manifests of this folder against the published schemas of Kubernetes, unknown fields
included: `check.py`, with the package kubernetes-validate."""

import sys
from pathlib import Path

import kubernetes_validate
import yaml

folder = Path(__file__).parent
checked = 0
for path in sorted(folder.glob("*.yaml")):
    for manifest in yaml.safe_load_all(path.read_text()):
        if manifest["kind"] == "Kustomization":
            named = manifest["resources"] + manifest["configMapGenerator"][0]["files"]
            absent = [name for name in named if not (folder / name).is_file()]
            if absent:
                sys.exit(f"{path.name}: there is no {absent}")
            continue
        kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)
        checked += 1
print(f"ok kubernetes: {checked} manifests fit the schemas of {kubernetes_validate.latest_version()}")
