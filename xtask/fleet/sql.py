"""Holds contrib/sql/effect.sql against `hugewise fleet analyse`: sql.py PROGRAM FOLDER [ENGINE...]

Rows are generated with fixed seeds: single hosts as units, hosts that are treated whole, and hosts
with both arms; some units have no past, one metric has means of zero, one has no scatter within arms, and one
is a share.
"""

import json
import math
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
QUERY = (HERE / "../../contrib/sql/effect.sql").read_text()
LIMIT = 1e-9


def rows(seed, hosts, pods, whole):
    """Rows of a fleet; one draw an arm for each host, or for each pod."""
    dice = random.Random(seed)
    for host in range(hosts):
        shared, of_host = dice.gauss(0, 0.2), dice.random() < 0.5
        for pod in range(pods):
            treated = of_host if whole else dice.random() < 0.5
            base = shared + dice.gauss(0, 0.2)
            has_past = dice.random() < 0.95
            for period in range(6):
                phase = ["before", "before", "washout", "during", "during", "during"][period]
                if phase == "before" and not has_past:
                    continue
                # Every treated unit is harmed alike; a power of two stays what it is in a mean.
                harm = 0.25 if treated and phase == "during" else 0.0
                for metric, size in (("p99_seconds", 0.01), ("anon_bytes", 8e9), ("stalls", 0), ("kills", None), ("busy_ratio", 0.3)):
                    away = base + dice.gauss(0, 0.1)
                    if treated and phase == "during":
                        away -= 0.05
                    mean = size * math.exp(away) if size else max(0.0, away)
                    mean = harm if size is None else mean
                    yield dict(
                        experiment="sql", plan="0" * 16, unit=f"host{host}/{pod}",
                        cluster=f"host{host}", stratum=f"kernel{host % 3}",
                        arm="treated" if treated else "control", stage=0, saturation=None,
                        start=period * 300, seconds=300.0, phase=phase, exposure=1.0,
                        proof="proved", ending="whole", metric=metric,
                        n=dice.randrange(1, 40), mean=mean, m2=0.0)


def duckdb(path):
    import duckdb as engine
    connection = engine.connect()
    connection.execute(f"CREATE VIEW fleet_rows AS SELECT * FROM read_json_auto('{path}')")
    return connection.execute(QUERY).fetchall()


def clickhouse(path):
    import chdb
    table = f"file('{path}', 'JSONEachRow')"
    text = QUERY.replace("FROM fleet_rows", f"FROM {table}")
    found = str(chdb.query(text, "JSONCompactEachRow"))
    return [json.loads(line) for line in found.splitlines()]


def spark(path):
    from pyspark.sql import SparkSession
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = session.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    session.read.json(str(path)).createOrReplaceTempView("fleet_rows")
    return [tuple(row) for row in session.sql(QUERY).collect()]


def by_parquet(path, program):
    """What the program says of the rows as a Parquet file of DuckDB."""
    import duckdb as engine
    parquet = path.with_suffix(".parquet")
    engine.execute(f"COPY (FROM read_json_auto('{path}')) TO '{parquet}' (FORMAT parquet)")
    print(f"{path.stem}: {path.stat().st_size} bytes as JSON, {parquet.stat().st_size} as Parquet")
    return ours(program, parquet)


ENGINES = {"sql": duckdb, "clickhouse": clickhouse, "spark": spark}


def ours(program, path):
    command = [program, "fleet", "analyse", str(path), "--format", "json"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    found = {}
    for metric in report["arms"][0]["metrics"]:
        if metric["effect"] is not None:
            is_log = metric["scale"] == "log"
            effect = math.log1p(metric["effect"]) if is_log else metric["effect"]
            found[metric["metric"]] = (
                int(is_log), effect, metric["error"], metric["slope"], metric["freedom"])
    return found


def apart(found, expected):
    """How far the two are apart at most, as a share."""
    worst = 0.0
    assert {row[0] for row in found} == set(expected), found
    for metric, *values in found:
        for got, want in zip(values, expected[metric]):
            away = abs(float(got) - want) / max(1.0, abs(want))
            assert away <= LIMIT, (metric, values, expected[metric])
            worst = max(worst, away)
    return worst


def main(program, folder, *names):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    fleets = {"single": (1, 90, 1, True), "whole": (2, 40, 3, True), "mixed": (3, 40, 4, False)}
    for fleet, shape in fleets.items():
        path = folder / f"{fleet}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows(*shape)))
        expected = ours(program, path.resolve())
        assert len(expected) == 5, expected
        for name in names or ENGINES:
            try:
                found = ENGINES[name](path.resolve())
            except ImportError as error:
                print(f"skipped {name}: {error}")
                continue
            worst = apart(found, expected)
            print(f"{fleet}: {name} agrees, at most {worst:.1e} apart")
            if name == "sql":
                found = by_parquet(path.resolve(), program)
                assert found == expected, (fleet, found, expected)
                print(f"{fleet}: the rows as Parquet of DuckDB say the same")


if __name__ == "__main__":
    main(*sys.argv[1:])
