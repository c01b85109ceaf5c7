"""Whether DuckDB gives the effects that `fleet analyse` gives, to 1e-9: `effects.py HUGEWISE FOLDER`.

A fleet of 300 hosts in two strata with its past, two treated arms, pods that share a host, and a
metric that is sometimes zero.
"""

import csv
import io
import json
import math
import random
import subprocess
import sys
from pathlib import Path

import duckdb

PLAN = """name = "effects"
starts = 2026-12-01T00:00:00Z
until = 2026-12-15T00:00:00Z
period = "1h"
[[arm]]
name = "control"
policy = "as-is"
[[arm]]
name = "always"
policy = "thp=always"
[[arm]]
name = "never"
policy = "thp=never"
"""
START = 1_796_083_200


def rows(arms):
    chance = random.Random(20261201)
    for index, (unit, arm) in enumerate(arms.items()):
        own = 0.02 * math.exp(chance.gauss(0, 0.2))
        for period in range(-5, 9):
            factor = 0.94 if arm == "always" and period >= 0 else 1
            for metric, value in (
                ("p99_seconds", own * factor * math.exp(chance.gauss(0, 0.05))),
                ("stalls_per_second", max(0.0, chance.gauss(0.1, 0.2))),
            ):
                yield {
                    "experiment": "effects", "plan": "0" * 16, "unit": unit,
                    "cluster": f"rack-{index // 3}" if index % 2 else unit,
                    "stratum": "large" if index % 3 else "small", "arm": arm, "stage": 0,
                    "saturation": None, "start": START + 3600 * period,
                    "seconds": 3600.0 if period != 3 else 1234.5,
                    "phase": "during" if period > 0 else "washout" if period == 0 else "before",
                    "exposure": 1.0, "proof": "proved", "ending": "whole", "metric": metric,
                    "n": 1, "mean": value, "m2": 0.0,
                }


def main():
    hugewise, folder = sys.argv[1], Path(sys.argv[2]) / "effects"
    folder.mkdir(parents=True, exist_ok=True)
    plan = folder / "plan.toml"
    plan.write_text(PLAN)
    units = [f"web-{index}" for index in range(300)]
    words = [hugewise, "fleet", "assign", plan, "--format", "arm", "--at", "2026-12-02T00:00:00Z"]
    said = subprocess.run([*words, *units], check=True, capture_output=True, text=True).stdout
    arms = dict(zip(units, said.split(), strict=True))
    with open(folder / "rows.jsonl", "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows(arms))
    words = [hugewise, "fleet", "analyse", plan, folder / "rows.jsonl", "--format", "csv"]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    ours = {(it["arm"], it["metric"]): it for it in csv.DictReader(io.StringIO(said))}
    base = duckdb.connect()
    base.execute(f"CREATE VIEW fleet_rows AS FROM read_json_auto('{folder}/rows.jsonl')")
    base.execute("SET VARIABLE control = 'control'")
    answer = base.execute(Path("contrib/sql/duckdb.sql").read_text())
    names = [column[0] for column in answer.description]
    theirs = [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
    assert len(theirs) == len(ours) == 4, (theirs, ours)
    worst = 0.0
    for row in theirs:
        own = ours[row["arm"], row["metric"]]
        assert own["scale"] == row["scale"], (own, row)
        for name in ("change", "error", "freedom"):
            worst = max(worst, abs(float(own[name]) / row[name] - 1))
    assert worst < 1e-9, worst
    print(f"ok duckdb: {len(theirs)} effects as by fleet analyse, to {worst:.1e}")


main()
