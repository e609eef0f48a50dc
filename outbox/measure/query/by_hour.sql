-- The counts of each of the last hours, summed over all sources or destinations. Hours without
-- counts are included.
SELECT series.hour, asked.what, COALESCE(sum(h.n), 0)::bigint
FROM generate_series(
    date_trunc('hour', now(), 'UTC') - (:hours::integer - 1) * interval '1 hour',
    date_trunc('hour', now(), 'UTC'),
    interval '1 hour'
) AS series (hour)
CROSS JOIN unnest(:whats::text[]) AS asked (what)
LEFT JOIN hooklatch.hours AS h ON h.hour = series.hour
    AND h.kind = :kind
    AND h.what = asked.what
GROUP BY series.hour, asked.what
ORDER BY asked.what, series.hour
