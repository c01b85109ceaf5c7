"""DuckDB and pandas read the rows of an export: parquet.py FILE.parquet FILE.csv, the same rows."""

import csv
import sys

import duckdb
import pandas


def as_text(value):
    """A cell as its CSV has it: nothing where there is no value."""
    return "" if value is None or pandas.isna(value) else value


def check(reader, heading, rows, expected):
    assert list(heading) == list(expected[0]), (reader, heading)
    assert len(rows) == len(expected), (reader, len(rows), len(expected))
    for row, wanted in zip(rows, expected):
        for value, (name, text) in zip(row, wanted.items()):
            value = as_text(value)
            same = value == text if isinstance(value, str) else float(value) == float(text)
            assert same, (reader, name, value, text)


def main(parquet, text):
    expected = list(csv.DictReader(open(text)))
    found = duckdb.execute(f"FROM read_parquet('{parquet}')")
    check("duckdb", [column[0] for column in found.description], found.fetchall(), expected)
    frame = pandas.read_parquet(parquet, engine="pyarrow")
    check("pandas", frame.columns, list(frame.itertuples(index=False, name=None)), expected)
    numbers = frame.select_dtypes("number").columns
    assert {"record", "trial", "round", "value"} <= set(numbers), frame.dtypes
    print(f"ok parquet: DuckDB {duckdb.__version__} and pandas {pandas.__version__} read {len(expected)} rows")


main(*sys.argv[1:])
