-- Returns, for each source that is requested or has events, the receipt times of the last event up
-- to :restored_to and of the first event after :restored_to. Each row also has the current time.
-- The statement reads all events.
SELECT s.source, max(s.last_before), min(s.first_since), now()
FROM (
    SELECT a.source, NULL::timestamptz AS last_before, NULL::timestamptz AS first_since
    FROM unnest(:sources::text[]) AS a (source)
    UNION ALL
    SELECT
        p.source,
        max(p.received_at) FILTER (WHERE p.received_at <= :restored_to),
        min(p.received_at) FILTER (WHERE p.received_at > :restored_to)
    FROM hooklatch.processed_events AS p
    GROUP BY p.source
) AS s
GROUP BY s.source
ORDER BY s.source COLLATE "C"
