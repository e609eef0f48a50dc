-- The counts of one kind by name: of the last hour, read from minutes, and of the last day, read
-- from hours. Each minute and hour is read by its key. An empty name means all names.
WITH hour AS (
    SELECT m.name, m.what, sum(m.n)::bigint AS n
    FROM generate_series(date_trunc('minute', now()) - interval '59 minutes', date_trunc('minute', now()), interval '1 minute') AS series (minute)
    JOIN hooklatch.minutes AS m ON m.minute = series.minute
    WHERE m.kind = :kind
        AND (:name = '' OR m.name = :name)
    GROUP BY m.name, m.what
), day AS (
    SELECT h.name, h.what, sum(h.n)::bigint AS n
    FROM generate_series(date_trunc('hour', now(), 'UTC') - interval '23 hours', date_trunc('hour', now(), 'UTC'), interval '1 hour') AS series (hour)
    JOIN hooklatch.hours AS h ON h.hour = series.hour
    WHERE h.kind = :kind
        AND (:name = '' OR h.name = :name)
    GROUP BY h.name, h.what
)
SELECT
    COALESCE(hour.name, day.name), COALESCE(hour.what, day.what),
    -- Hours are summed with a delay, so an hour may lack counts that its minutes already have.
    COALESCE(hour.n, 0), GREATEST(COALESCE(day.n, 0), COALESCE(hour.n, 0))
FROM hour
FULL JOIN day ON day.name = hour.name AND day.what = hour.what
