"""Has pyperf read its export: `pyperf.py FILE RUNS NAME…`, with the number of runs of each benchmark."""

import sys

# The folder of this script has a module of the same name.
sys.path.pop(0)
import pyperf  # noqa: E402

name, runs, *expected = sys.argv[1:]
suite = pyperf.BenchmarkSuite.load(name)
read = {benchmark.get_name(): benchmark.get_nrun() for benchmark in suite.get_benchmarks()}
if read != dict.fromkeys(expected, int(runs)):
    sys.exit(f"pyperf reads {read}")
for benchmark in suite.get_benchmarks():
    assert benchmark.get_unit() == "second", benchmark.get_unit()
    assert benchmark.get_metadata()["command_max_rss"] > 0
print(f"ok pyperf: {runs} runs of each of {len(read)} benchmarks")
