-- Returns the bodies of several events' deliveries. Postgres finds each delivery by its event's
-- key, whatever the statistics say. A separate statement reads large bodies.
SELECT
    p.source, p.event_id, p.item, d.content_type, CASE WHEN octet_length(d.body) <= 65536 THEN d.body END AS body
FROM :asked AS a (source text, event_id text)
CROSS JOIN LATERAL (
    SELECT source, event_id, item, delivery_id, received_at
    FROM hooklatch.processed_events AS e
    WHERE e.source = a.source
        AND e.event_id = a.event_id
    LIMIT 1
) AS p
CROSS JOIN LATERAL (
    {{delivery_of}}
) AS d
