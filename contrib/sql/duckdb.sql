-- The effects of a fleet experiment in DuckDB, as `hugewise fleet analyse` works them out: the
-- same change, error and degrees of freedom. Needs the rows of one experiment as a view, from JSON
-- lines or from Parquet, and the name of the control:
--   CREATE VIEW fleet_rows AS FROM read_json_auto('rows/**/*.jsonl');
--   SET VARIABLE control = 'control';
WITH rows AS (
  SELECT metric, unit, arm, stratum, cluster, phase, seconds, mean
  FROM fleet_rows
  WHERE arm <> 'outside' AND phase <> 'washout' AND n > 0
),
-- Each period counts by its length.
levels AS (
  SELECT metric, unit, any_value(stratum) AS stratum, any_value(cluster) AS cluster,
    any_value(arm) FILTER (phase = 'during') AS arm,
    sum(mean * seconds) FILTER (phase = 'during') / sum(seconds) FILTER (phase = 'during') AS y,
    sum(mean * seconds) FILTER (phase = 'before') / sum(seconds) FILTER (phase = 'before') AS x
  FROM rows
  GROUP BY metric, unit
  HAVING count(DISTINCT arm) FILTER (phase = 'during') = 1
),
-- Logarithms where all values are above zero; the past where all units have one.
scales AS (
  SELECT metric, bool_and(x IS NOT NULL) AS has_past,
    bool_and(y > 0) AND (NOT bool_and(x IS NOT NULL) OR bool_and(x > 0)) AS relative
  FROM levels GROUP BY metric
),
scaled AS (
  SELECT levels.metric, arm, stratum, cluster, relative, has_past,
    CASE WHEN relative THEN ln(y) ELSE y END AS y,
    CASE WHEN NOT has_past THEN 0 WHEN relative THEN ln(x) ELSE x END AS x
  FROM levels JOIN scales ON levels.metric = scales.metric
),
-- Within strata, whatever the arm.
away AS (
  SELECT *, x - avg(x) OVER w AS dx, y - avg(y) OVER w AS dy
  FROM scaled WINDOW w AS (PARTITION BY metric, stratum)
),
slopes AS (
  SELECT metric, CASE WHEN sum(dx * dx) > 0 THEN sum(dx * dy) / sum(dx * dx) ELSE 0 END AS slope
  FROM away GROUP BY metric
),
points AS (
  SELECT away.metric, relative, stratum, cluster, arm, avg(y - slope * dx) AS y
  FROM away JOIN slopes ON away.metric = slopes.metric
  GROUP BY away.metric, relative, stratum, cluster, arm
),
moments AS (
  SELECT metric, relative, stratum, arm, count(*) AS n, avg(y) AS mean, var_samp(y) / count(*) AS variance
  FROM points GROUP BY metric, relative, stratum, arm
),
strata AS (
  SELECT t.metric, t.relative, t.arm, c.n + t.n AS size, t.mean - c.mean AS difference,
    c.variance AS control_variance, c.n AS control_n, t.variance, t.n
  FROM moments AS t
  JOIN moments AS c ON t.metric = c.metric AND t.stratum = c.stratum
  WHERE c.arm = getvariable('control') AND t.arm <> getvariable('control') AND c.n >= 2 AND t.n >= 2
),
weighted AS (
  SELECT *, size / sum(size) OVER (PARTITION BY metric, arm) AS weight FROM strata
),
effects AS (
  SELECT metric, arm, any_value(relative) AS relative, sum(weight * difference) AS difference,
    sum(weight ** 2 * (control_variance + variance)) AS variance,
    sum((weight ** 2 * control_variance) ** 2 / (control_n - 1)
      + (weight ** 2 * variance) ** 2 / (n - 1)) AS fourth
  FROM weighted GROUP BY metric, arm
)
SELECT arm, metric,
  CASE WHEN relative THEN 'relative' ELSE 'absolute' END AS scale,
  CASE WHEN relative THEN exp(difference) - 1 ELSE difference END AS change,
  sqrt(variance) AS error, variance ** 2 / fourth AS freedom
FROM effects WHERE variance > 0
ORDER BY metric, arm;
