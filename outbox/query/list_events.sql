-- The newest events first, without their bodies. An empty filter takes all.
SELECT
    p.source, p.event_id, p.provider, p.event_type, p.api_version, p.occurred_at, p.received_at,
    p.accept_seq, p.acceptance_id, p.delivery_id, p.item, p.traceparent,
    p.outcome, p.generation, p.effect_generation, p.processed_at, p.config_hash, p.error,
    p.duplicates, p.last_duplicate_at, p.body_differs,
    p.replay_suspect, p.retry_number, p.retry_reason,
    NULL::jsonb AS headers, NULL::text AS content_type, NULL::bytea AS body
FROM hooklatch.processed_events AS p
WHERE (:source = '' OR p.source = :source)
    AND (:event_type = '' OR p.event_type = :event_type)
    AND (:outcome = '' OR p.outcome = :outcome)
    AND (:before::bigint = 0 OR p.accept_seq < :before)
    AND (:since::timestamptz IS NULL OR p.received_at >= :since)
ORDER BY p.accept_seq DESC
LIMIT :limit
