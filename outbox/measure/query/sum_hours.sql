-- Sums the minutes of the hours since the last summed hour, and of earlier hours for which counts
-- may have arrived late. Rows in the future, from a clock that was ahead, are left out. The sums over
-- all names are summed from the hours: see sum_hours_of_all.
WITH since AS (
    SELECT date_trunc('hour', COALESCE(max(h.hour), '-infinity') - make_interval(secs => :again_seconds), 'UTC') AS hour
    FROM hooklatch.hours AS h
    WHERE h.hour <= now()
), summed AS (
    SELECT date_trunc('hour', m.minute, 'UTC') AS hour, m.kind, m.name, m.what, sum(m.n)::bigint AS n
    FROM hooklatch.minutes AS m
    WHERE m.minute >= (SELECT since.hour FROM since)
        AND m.minute <= now()
        AND m.kind NOT IN ('sources', 'destinations')
    GROUP BY 1, m.kind, m.name, m.what
)
INSERT INTO hooklatch.hours AS h (hour, kind, name, what, n)
SELECT summed.hour, summed.kind, summed.name, summed.what, summed.n
FROM summed
ON CONFLICT (hour, kind, name, what) DO UPDATE
SET n = EXCLUDED.n
WHERE h.n <> EXCLUDED.n
