-- Undispatched events by source, with the arrival of the first event. At most :most events are
-- read, in equal shares for all sources, but at least :least for each. Two flags show that there
-- may be more events, and that no running worker has the source.
WITH waits AS MATERIALIZED (
    SELECT found.source
    FROM {{undispatched_sources}} AS found
), share AS MATERIALIZED (
    SELECT GREATEST(:least::bigint, :most::bigint / GREATEST(count(*), 1)) AS rows
    FROM waits
)
SELECT
    waits.source, counted.events, counted.since, counted.events >= (SELECT share.rows FROM share) AS at_least,
    {{is_unserved}} AS unserved
FROM waits
CROSS JOIN LATERAL (
    SELECT count(*) AS events, min(p.received_at) AS since
    FROM (
        SELECT p.received_at
        FROM hooklatch.processed_events AS p
        WHERE p.source = ANY (ARRAY[waits.source])
            AND p.outcome = 'received'
        ORDER BY p.source, p.accept_seq
        LIMIT (SELECT share.rows FROM share)
    ) AS p
) AS counted
