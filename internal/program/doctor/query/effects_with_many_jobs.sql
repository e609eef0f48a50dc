WITH live AS (
    SELECT j.args ->> 'scope' AS scope, j.args ->> 'key' AS key, (j.args ->> 'generation')::integer AS generation, count(*) AS jobs
    FROM hooklatch.river_job AS j
    WHERE j.kind = 'effect'
        AND {{is_live}}
    GROUP BY 1, 2, 3
    HAVING count(*) > 1
)
SELECT count(*) OVER () AS total, e.idempotency_key || ' to ' || e.destination || ', ' || live.jobs || ' jobs' AS violation
FROM live
JOIN hooklatch.effects AS e USING (scope, key, generation)
LIMIT :limit
