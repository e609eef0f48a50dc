-- The usual share of :part in :whole, over all sources or destinations: the median of the same hour
-- on the last seven days, as in usual.sql. Days without counts are omitted. NULL if no day has
-- counts.
WITH counted AS (
    SELECT h.hour, sum(h.n) FILTER (WHERE h.what = :part) AS part, sum(h.n) FILTER (WHERE h.what = ANY (:whole::text[])) AS whole
    FROM generate_series(1, 7) AS ago (days)
    JOIN hooklatch.hours AS h ON h.hour = date_trunc('hour', now() - interval '30 minutes', 'UTC') - ago.days * interval '1 day'
    WHERE h.kind = :kind
        AND (h.what = :part OR h.what = ANY (:whole::text[]))
    GROUP BY h.hour
)
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY (COALESCE(c.part, 0) / c.whole)::float8) AS share
FROM counted AS c
WHERE c.whole > 0
