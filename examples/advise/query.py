"""Aggregates into a large hash table, and sorts: a query of ClickHouse in this process."""

import chdb

QUERY = """
SELECT count(), max(total) FROM (
  SELECT intHash64(number) % 3000000 AS key, sum(number) AS total, uniq(number % 17) AS kinds
  FROM numbers(24000000) GROUP BY key ORDER BY total DESC
) SETTINGS max_threads = 1
"""
print(chdb.query(QUERY))
