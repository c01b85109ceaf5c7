#!/usr/bin/env python3
"""Asks an engine for the arms of all vectors: `engines.py ENGINE HUGEWISE FOLDER`. The engine gets
nothing but the snippet that `fleet assign --as ENGINE` prints."""

import csv
import json
import subprocess
import sys
from pathlib import Path

FIXTURES = Path("fixtures/fleet")


def groups():
    """Units and their arms by plan and moment."""
    found = {}
    with open(FIXTURES / "vectors.csv", newline="") as file:
        for row in csv.DictReader(file):
            group = found.setdefault((row["plan"], row["at"]), {})
            group[row["unit"]] = row["arm"]
    return found


def snippet(hugewise, engine, plan, at):
    path = FIXTURES / "plans" / f"{plan}.toml"
    words = [hugewise, "fleet", "assign", path, "--as", engine, "--at", at]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def duckdb(text, units, _):
    import duckdb

    connection = duckdb.connect()
    connection.execute("CREATE TABLE units (unit VARCHAR)")
    connection.executemany("INSERT INTO units VALUES (?)", [[unit] for unit in units])
    return dict(connection.execute(text).fetchall())


def clickhouse(text, units, folder):
    from chdb import session

    connection = session.Session(str(folder / "chdb"))
    connection.query("CREATE DATABASE IF NOT EXISTS fleet ENGINE = Atomic")
    connection.query("CREATE OR REPLACE TABLE fleet.units (unit String) ENGINE = Memory")
    values = ", ".join(f"('{unit}')" for unit in units)
    connection.query(f"INSERT INTO fleet.units VALUES {values}")
    text = text.replace("FROM units", "FROM fleet.units").rstrip().rstrip(";")
    answer = connection.query(text, "JSONEachRow").bytes().decode()
    connection.close()
    rows = [json.loads(line) for line in answer.splitlines() if line]
    return {row["unit"]: row["arm"] for row in rows}


def spark(text, units, _):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = builder.getOrCreate()
    session.createDataFrame([(unit,) for unit in units], ["unit"]).createOrReplaceTempView("units")
    rows = session.sql(text.rstrip().rstrip(";")).collect()
    return {row["unit"]: row["arm"] for row in rows}


def jinja(text, units, folder):
    """By Ansible itself: its filters are not those of plain Jinja."""
    template, answer = folder / "arms.j2", folder / "arms.txt"
    template.write_text("{% for unit in units %}\n=={{ unit }}==" + text + "{% endfor %}\n")
    play = [
        {
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "vars": {"units": list(units)},
            "tasks": [
                {
                    "ansible.builtin.template": {
                        "src": str(template.absolute()),
                        "dest": str(answer.absolute()),
                        "mode": "0644",
                    }
                }
            ],
        }
    ]
    playbook = folder / "play.json"
    playbook.write_text(json.dumps(play))
    subprocess.run(
        ["ansible-playbook", "-i", "localhost,", playbook], check=True, capture_output=True
    )
    parts = answer.read_text().split("==")
    return {unit: arm.strip() for unit, arm in zip(parts[1::2], parts[2::2])}


def go(text, units, folder):
    template = folder / "arms.tmpl"
    template.write_text(text)
    words = [folder / "gotemplate", template]
    given = "\n".join(units)
    answer = subprocess.run(words, input=given, check=True, capture_output=True, text=True)
    return dict(line.split("\t") for line in answer.stdout.splitlines())


ENGINES = {
    "sql": duckdb,
    "clickhouse": clickhouse,
    "spark": spark,
    "jinja": jinja,
    "go": go,
}


def main(engine, hugewise, folder):
    checked = 0
    for (plan, at), expected in groups().items():
        found = ENGINES[engine](snippet(hugewise, engine, plan, at), expected, Path(folder))
        for unit, arm in expected.items():
            if found.get(unit) != arm:
                sys.exit(f"{engine}: {plan} at {at}: {unit} has {found.get(unit)}, not {arm}")
            checked += 1
    print(f"ok {engine}: {checked} units of {len(groups())} plans and moments")


main(*sys.argv[1:])
