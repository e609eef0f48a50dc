-- The newest events first, without their bodies. An empty filter takes all.
SELECT
    {{event_columns}},
    NULL::jsonb AS headers, NULL::text AS content_type, NULL::bytea AS body
FROM hooklatch.processed_events AS p
WHERE (:source = '' OR p.source = :source)
    AND (:event_type = '' OR p.event_type = :event_type)
    AND (:outcome = '' OR p.outcome = :outcome)
    AND (:before::bigint = 0 OR p.accept_seq < :before)
    AND (:since::timestamptz IS NULL OR p.received_at >= :since)
ORDER BY p.accept_seq DESC
LIMIT :limit
