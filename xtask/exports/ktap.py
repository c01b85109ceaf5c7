"""Has kunit_parser of the kernel read KTAP: `ktap.py FOLDER FILE STATUS…`, with tools/testing/kunit as FOLDER."""

import inspect
import sys

folder, name, *expected = sys.argv[1:]
sys.path.insert(0, folder)
import kunit_parser  # noqa: E402
import kunit_printer  # noqa: E402

with open(name, encoding="utf-8") as file:
    lines = file.read().splitlines()
# Newer kernels pass the printer.
arguments = [lines, kunit_printer.stdout]
count = len(inspect.signature(kunit_parser.parse_run_tests).parameters)
test = kunit_parser.parse_run_tests(*arguments[:count])
read = [subtest.status.name for subtest in test.subtests]
if read != expected or test.counts.errors:
    sys.exit(f"kunit_parser reads {read} with {test.counts.errors} errors, not {expected}")
print(f"ok ktap: {test.counts}")
