"""The Firefox Profiler's own times by function sum to those of the call chains as text."""

import json
import sys

with open(sys.argv[1]) as file:
    functions = json.load(file)["functions"]
with open(sys.argv[2]) as file:
    expected = sum(int(line.rsplit(" ", 1)[1]) for line in file)
read = round(sum(function["selfSamples"] for function in functions) * 1e6)
if read != expected:
    sys.exit(f"the Firefox Profiler reads {read} ns of {expected}")
print(f"ok firefox: {read} ns")
