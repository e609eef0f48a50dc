-- The last 60 minutes of each source, and the usual values. The usual values are medians over the
-- last seven days, for the clock hour that contains the middle of these minutes. Days without any
-- count in that hour are omitted.
WITH recent AS (
    SELECT
        m.name,
        COALESCE(sum(m.n) FILTER (WHERE m.what = 'accepted'), 0) AS accepted,
        COALESCE(sum(m.n) FILTER (WHERE m.what = 'duplicate'), 0) AS duplicates
    FROM hooklatch.minutes AS m
    WHERE m.minute > now() - interval '60 minutes'
        AND m.kind = 'source'
        AND m.what IN ('accepted', 'duplicate')
    GROUP BY m.name
), day AS (
    SELECT date_trunc('hour', now() - interval '30 minutes', 'UTC') - ago.days * interval '1 day' AS hour
    FROM generate_series(1, 7) AS ago (days)
), counted AS (
    SELECT day.hour
    FROM day
    WHERE EXISTS (
        SELECT
        FROM hooklatch.hours AS h
        WHERE h.hour = day.hour
    )
), before AS (
    SELECT
        h.name, h.hour,
        COALESCE(sum(h.n) FILTER (WHERE h.what = 'accepted'), 0) AS accepted,
        COALESCE(sum(h.n) FILTER (WHERE h.what = 'duplicate'), 0) AS duplicates
    FROM counted
    JOIN hooklatch.hours AS h ON h.hour = counted.hour
    WHERE h.kind = 'source'
        AND h.what IN ('accepted', 'duplicate')
    GROUP BY h.name, h.hour
), seen AS (
    SELECT s.name
    FROM hooklatch.last_seen AS s
    WHERE s.kind = 'source'
        AND s.what = 'accepted'
)
SELECT
    seen.name,
    COALESCE(recent.accepted, 0)::bigint AS accepted,
    COALESCE(recent.duplicates, 0)::bigint AS duplicates,
    usual.events,
    usual.duplicate_rate
FROM seen
LEFT JOIN recent ON recent.name = seen.name
CROSS JOIN LATERAL (
    SELECT
        -- A day without events counts as zero.
        percentile_cont(0.5) WITHIN GROUP (ORDER BY COALESCE(before.accepted + before.duplicates, 0)::float8) AS events,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY (before.duplicates / NULLIF(before.accepted + before.duplicates, 0))::float8) AS duplicate_rate
    FROM counted
    LEFT JOIN before ON before.hour = counted.hour AND before.name = seen.name
) AS usual
