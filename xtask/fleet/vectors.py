#!/usr/bin/env python3
"""Writes fixtures/fleet/vectors.csv: arms of units by the description in docs/reference/format-fleet.md, without the
program. Arms are worked out with fractions, so that no rounding is shared with the program."""

import csv
import hashlib
import sys
import tomllib
from fractions import Fraction
from pathlib import Path

SPAN = 1 << 52


def digits(text):
    return hashlib.sha256(text.encode()).hexdigest()[:13]


def below(hash_, share):
    return int(hash_, 16) < round(share * SPAN)


def cluster(kind, unit):
    if kind == "service":
        return unit.split("@", 1)[-1]
    return unit.split("/", 1)[0]


def weighted(arms, draw):
    total = sum(Fraction(str(arm.get("weight", 1))) for arm in arms)
    sum_ = Fraction(0)
    for arm in arms[:-1]:
        sum_ += Fraction(str(arm.get("weight", 1)))
        if below(draw, sum_ / total):
            return arm["name"]
    return arms[-1]["name"]


def assign(plan, unit, at):
    name, arms = plan["name"], plan["arm"]
    enrol = digits(f"{plan.get('salt', name)}/enrol/{unit}")
    draw = digits(f"{name}/arm/{unit}")
    lower, upper = (Fraction(str(edge)) for edge in plan.get("band", [0, 1]))
    stages = plan.get("stages", [{"share": 1}])
    share = Fraction(str(stages[plan.get("stage", 0)]["share"]))
    if below(enrol, lower) or not below(enrol, lower + (upper - lower) * share):
        return "outside", "", enrol, draw
    levels = plan.get("saturation")
    if levels:
        group = cluster(plan.get("unit", "host"), unit)
        saturation = int(digits(f"{name}/saturation/{group}"), 16)
        level = levels[saturation * len(levels) // SPAN]
        treated = below(draw, Fraction(str(level)))
        return arms[1 if treated else 0]["name"], level, enrol, draw
    if "switchback" in plan:
        turn = (at - int(plan["starts"].timestamp())) // 3600
        pair, place = divmod(turn, 2)
        first = 0 if below(digits(f"{name}/switch/{unit}/{pair}"), Fraction(1, 2)) else 1
        return arms[first ^ place]["name"], "", enrol, draw
    return weighted(arms, draw), "", enrol, draw


def main(fixtures):
    # Two turns of one pair, and one of the next.
    times = [1793538000, 1793541600, 1793545200]
    rows = csv.writer(
        open(fixtures / "vectors.csv", "w", newline=""), lineterminator="\n"
    )
    rows.writerow(["plan", "at", "unit", "arm", "saturation", "enrol", "draw"])
    for path in sorted((fixtures / "plans").glob("*.toml")):
        plan = tomllib.loads(path.read_text())
        for at in times if "switchback" in plan else times[:1]:
            for number in range(120):
                host = f"rack{number % 7}/web-{number}"
                unit = f"search@web-{number}" if plan.get("unit") == "service" else host
                if number % 10 == 0:
                    unit = f"straße-{number}.example"
                rows.writerow([path.stem, at, unit, *assign(plan, unit, at)])


main(Path(sys.argv[1]))
