# Copies of an array of 64 MB, each into new memory.
import numpy

array = numpy.arange(8_000_000, dtype=numpy.float64)
total = 0.0
for _ in range(20):
    total += array.copy()[-1]
print(total)
