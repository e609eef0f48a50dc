-- Sources with skipped events in the last 60 minutes. Each row has the number of skipped events,
-- the time of the first, and the number of events that matched a route. Both numbers are also given
-- for the day before.
WITH recent AS (
    SELECT
        m.name,
        COALESCE(sum(m.n) FILTER (WHERE m.what = 'skipped'), 0) AS skipped,
        min(m.minute) FILTER (WHERE m.what = 'skipped') AS since,
        COALESCE(sum(m.n) FILTER (WHERE m.what = 'dispatched'), 0) AS dispatched
    FROM hooklatch.minutes AS m
    WHERE m.minute > now() - interval '60 minutes'
        AND m.kind = 'source'
        AND m.what IN ('dispatched', 'skipped')
    GROUP BY m.name
), before AS (
    SELECT
        h.name,
        COALESCE(sum(h.n) FILTER (WHERE h.what = 'skipped'), 0) AS skipped,
        COALESCE(sum(h.n) FILTER (WHERE h.what = 'dispatched'), 0) AS dispatched
    FROM hooklatch.hours AS h
    WHERE h.hour >= date_trunc('hour', now() - interval '25 hours', 'UTC')
        AND h.hour < date_trunc('hour', now() - interval '60 minutes', 'UTC')
        AND h.kind = 'source'
        AND h.what IN ('dispatched', 'skipped')
    GROUP BY h.name
)
SELECT
    recent.name,
    recent.skipped::bigint AS skipped,
    recent.since,
    recent.dispatched::bigint AS dispatched,
    COALESCE(before.skipped, 0)::bigint AS skipped_before,
    COALESCE(before.dispatched, 0)::bigint AS dispatched_before
FROM recent
LEFT JOIN before ON before.name = recent.name
WHERE recent.skipped > 0
ORDER BY recent.name COLLATE "C"
