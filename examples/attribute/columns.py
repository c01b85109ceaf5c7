"""A table of 40 columns, each in memory of its own: one is read at random, the others are written once."""

import sys

import numpy as np

MIB = 1 << 20


def main() -> None:
    reads = int(sys.argv[1]) if len(sys.argv) > 1 else 8_000_000
    columns = [np.full(8 * MIB // 8, column, dtype=np.int64) for column in range(39)]
    prices = np.arange(128 * MIB // 8, dtype=np.int64)
    # A linear congruence visits the rows in an order that no prefetcher follows.
    rows = (np.arange(reads, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    print(int(prices[rows].sum()), len(columns))


main()
