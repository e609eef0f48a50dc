-- Sums the counts of all sources and of all destinations in each minute since the last summed
-- minute. Earlier minutes for which counts may have arrived late are summed again. The count named
-- summed marks the minutes that have these sums.
WITH since AS (
    SELECT COALESCE(max(line.minute) - make_interval(secs => :again_seconds::float8), '-infinity') AS minute
    FROM (
        SELECT m.minute
        FROM generate_series(
            date_trunc('minute', now(), 'UTC') - make_interval(secs => :back_seconds::float8), date_trunc('minute', now(), 'UTC'), interval '1 minute'
        ) AS m (minute)
    ) AS line
    WHERE EXISTS (
        SELECT
        FROM hooklatch.minutes AS c
        WHERE c.minute = line.minute
            AND c.kind = 'sources'
            AND c.name = ''
            AND c.what = 'summed'
    )
), recent AS MATERIALIZED (
    SELECT c.minute, c.kind, c.what, c.n
    FROM hooklatch.minutes AS c
    WHERE c.minute >= (SELECT since.minute FROM since)
        AND c.minute <= now()
        AND c.kind IN ('source', 'destination', 'timeline')
), summed AS (
    SELECT c.minute, c.kind || 's' AS kind, {{charted}} AS what, sum(c.n)::bigint AS n
    FROM recent AS c
    WHERE c.kind <> 'timeline'
        AND {{is_charted}}
    GROUP BY 1, 2, 3
    UNION ALL
    SELECT DISTINCT c.minute, 'sources', 'summed', 1::bigint
    FROM recent AS c
)
INSERT INTO hooklatch.minutes AS m (minute, kind, name, what, n)
SELECT summed.minute, summed.kind, '', summed.what, summed.n
FROM summed
ORDER BY 1, 2, 4
ON CONFLICT (minute, kind, name, what) DO UPDATE
SET n = EXCLUDED.n
WHERE m.n <> EXCLUDED.n
