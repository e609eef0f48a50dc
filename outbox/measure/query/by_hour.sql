-- The counts of each of the last hours, summed over all sources or destinations. Hours without
-- counts are included. Each hour is read in one walk along the primary key.
WITH counted AS (
    SELECT series.hour, c.what, sum(c.n)::bigint AS n
    FROM generate_series(
        date_trunc('hour', now(), 'UTC') - (:hours::integer - 1) * interval '1 hour',
        date_trunc('hour', now(), 'UTC'),
        interval '1 hour'
    ) AS series (hour)
    LEFT JOIN LATERAL (
        SELECT h.what, h.n
        FROM hooklatch.hours AS h
        WHERE h.hour = series.hour
            AND h.kind = :kind
            AND h.what = ANY (:whats::text[])
        OFFSET 0
    ) AS c ON true
    GROUP BY series.hour, c.what
), series AS (
    SELECT DISTINCT counted.hour
    FROM counted
)
SELECT series.hour, asked.what, COALESCE(counted.n, 0)
FROM series
CROSS JOIN unnest(:whats::text[]) AS asked (what)
LEFT JOIN counted ON counted.hour = series.hour
    AND counted.what = asked.what
ORDER BY asked.what, series.hour
