-- The effect of an arm on each metric: a difference within strata, with the units' own past taken
-- out, and an error by clusters. The same as `hugewise fleet analyse`, for DuckDB, ClickHouse and
-- Spark. `fleet_rows` is a table or view of the rows of agents (docs/reference/format-fleet.md); name the arms here.
-- Units must keep one arm: arms that take turns need the program.
WITH asked AS (SELECT 'control' AS control_arm, 'treated' AS treated_arm),
unit_means AS (
  SELECT metric AS m, unit AS u, min(cluster) AS c, min(stratum) AS s, min(arm) AS a,
    sum(CASE WHEN phase = 'during' THEN n * mean ELSE 0.0 END)
      / nullif(sum(CASE WHEN phase = 'during' THEN n ELSE 0 END), 0) AS during_mean,
    sum(CASE WHEN phase = 'before' THEN n * mean ELSE 0.0 END)
      / nullif(sum(CASE WHEN phase = 'before' THEN n ELSE 0 END), 0) AS before_mean
  FROM fleet_rows WHERE arm <> 'outside' GROUP BY metric, unit),
-- Logarithms, unless the metric is a share, or a unit has a mean that has none.
scales AS (
  SELECT m AS scale_m,
    CASE WHEN right(m, 6) <> '_ratio'
        AND coalesce(min(during_mean), 1.0) > 0 AND coalesce(min(before_mean), 1.0) > 0
      THEN 1 ELSE 0 END AS is_log
  FROM unit_means GROUP BY m),
scaled AS (
  SELECT m, u, c, s, CASE WHEN a = treated_arm THEN 1 ELSE 0 END AS t,
    CASE WHEN is_log = 1 THEN ln(during_mean) ELSE during_mean END AS y,
    CASE WHEN is_log = 1 THEN ln(before_mean) ELSE before_mean END AS past
  FROM unit_means JOIN scales ON m = scale_m CROSS JOIN asked
  WHERE during_mean IS NOT NULL AND (a = control_arm OR a = treated_arm)),
-- A unit without a past has the mean of its stratum.
pasts AS (
  SELECT m AS past_m, s AS past_s, avg(past) AS usual FROM scaled GROUP BY m, s),
units AS (
  SELECT m, u, c, s, t, y, coalesce(past, usual, 0.0) AS x
  FROM scaled JOIN pasts ON m = past_m AND s = past_s),
cells AS (
  SELECT m AS cell_m, s AS cell_s, t AS cell_t, count(*) AS units_n,
    count(DISTINCT c) AS clusters_n, avg(x) AS mean_x, avg(y) AS mean_y
  FROM units GROUP BY m, s, t),
strata AS (
  SELECT cell_m AS stratum_m, cell_s AS stratum_s, sum(units_n) AS stratum_n,
    sum(clusters_n) AS both_n, min(clusters_n) AS fewest
  FROM cells GROUP BY cell_m, cell_s HAVING count(*) = 2 AND min(clusters_n) >= 2),
totals AS (
  SELECT stratum_m AS total_m, sum(stratum_n) AS total_n FROM strata GROUP BY stratum_m),
placed AS (
  SELECT m, c, s, t, x, y, mean_x, mean_y, units_n, clusters_n, both_n, fewest,
    1.0 * stratum_n / total_n AS weight
  FROM units JOIN cells ON m = cell_m AND s = cell_s AND t = cell_t
    JOIN strata ON m = stratum_m AND s = stratum_s JOIN totals ON m = total_m),
slopes AS (
  SELECT m AS slope_m,
    coalesce(sum((x - mean_x) * (y - mean_y))
      / nullif(sum((x - mean_x) * (x - mean_x)), 0.0), 0.0) AS slope
  FROM placed GROUP BY m),
scores AS (
  SELECT m, s, c, t, clusters_n, both_n, fewest,
    sum(weight / units_n * sqrt(1.0 * clusters_n / (clusters_n - 1))
      * ((y - slope * x) - (mean_y - slope * mean_x))) AS score
  FROM placed JOIN slopes ON m = slope_m GROUP BY m, s, c, t, clusters_n, both_n, fewest),
-- A cluster that has both arms keeps the sign of each.
clusters AS (
  SELECT m AS cluster_m, s AS cluster_s, c AS cluster_c,
    sum(CASE WHEN t = 1 THEN score ELSE -score END) AS signed_score
  FROM scores GROUP BY m, s, c),
counts AS (
  SELECT cluster_m AS count_m, cluster_s AS count_s, count(*) AS distinct_n
  FROM clusters GROUP BY cluster_m, cluster_s),
parts AS (
  SELECT m AS part_m, sum(score * score) AS variance, 1.0 * (max(clusters_n) - 1) AS freedom
  FROM scores JOIN counts ON m = count_m AND s = count_s
  WHERE distinct_n = both_n GROUP BY m, s, t
  UNION ALL
  SELECT cluster_m AS part_m, sum(signed_score * signed_score) AS variance,
    1.0 * (max(fewest) - 1) AS freedom
  FROM clusters JOIN counts ON cluster_m = count_m AND cluster_s = count_s
    JOIN strata ON cluster_m = stratum_m AND cluster_s = stratum_s
  WHERE distinct_n < both_n GROUP BY cluster_m, cluster_s),
errors AS (
  SELECT part_m AS error_m, sqrt(sum(variance)) AS std_error,
    sum(variance) * sum(variance) / nullif(sum(variance * variance / freedom), 0.0) AS degrees
  FROM parts GROUP BY part_m),
effects AS (
  SELECT cell_m AS effect_m,
    sum((CASE WHEN cell_t = 1 THEN 1.0 ELSE -1.0 END) * stratum_n / total_n
      * (mean_y - slope * mean_x)) AS effect
  FROM cells JOIN strata ON cell_m = stratum_m AND cell_s = stratum_s
    JOIN totals ON cell_m = total_m JOIN slopes ON cell_m = slope_m
  GROUP BY cell_m)
SELECT effect_m AS metric, is_log, effect, std_error, slope,
  greatest(coalesce(degrees, 1.0) - CASE WHEN slope <> 0 THEN 1 ELSE 0 END, 1.0) AS freedom
FROM effects JOIN errors ON effect_m = error_m JOIN slopes ON effect_m = slope_m
  JOIN scales ON effect_m = scale_m
-- Arms without scatter of which one differs are the clearest effect there is.
WHERE std_error > 0 OR effect <> 0 ORDER BY effect_m
