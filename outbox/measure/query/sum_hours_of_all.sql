-- The same as sum_minutes_of_all, but for hours. Hours older than :back_seconds are not summed.
WITH since AS (
    SELECT GREATEST(
        COALESCE(max(line.hour) - make_interval(secs => :again_seconds::float8), '-infinity'),
        date_trunc('hour', now(), 'UTC') - make_interval(secs => :back_seconds::float8)
    ) AS hour
    FROM (
        SELECT h.hour
        FROM generate_series(
            date_trunc('hour', now(), 'UTC') - make_interval(secs => :back_seconds::float8), date_trunc('hour', now(), 'UTC'), interval '1 hour'
        ) AS h (hour)
    ) AS line
    WHERE EXISTS (
        SELECT
        FROM hooklatch.hours AS c
        WHERE c.hour = line.hour
            AND c.kind = 'sources'
            AND c.name = ''
            AND c.what = 'summed'
    )
), recent AS MATERIALIZED (
    SELECT c.hour, c.kind, c.what, c.n
    FROM hooklatch.hours AS c
    WHERE c.hour >= (SELECT since.hour FROM since)
        AND c.hour <= now()
        AND c.kind IN ('source', 'destination', 'timeline')
), summed AS (
    SELECT c.hour, c.kind || 's' AS kind, {{charted}} AS what, sum(c.n)::bigint AS n
    FROM recent AS c
    WHERE c.kind <> 'timeline'
        AND {{is_charted}}
    GROUP BY 1, 2, 3
    UNION ALL
    SELECT DISTINCT c.hour, 'sources', 'summed', 1::bigint
    FROM recent AS c
)
INSERT INTO hooklatch.hours AS h (hour, kind, name, what, n)
SELECT summed.hour, summed.kind, '', summed.what, summed.n
FROM summed
ORDER BY 1, 2, 4
ON CONFLICT (hour, kind, name, what) DO UPDATE
SET n = EXCLUDED.n
WHERE h.n <> EXCLUDED.n
