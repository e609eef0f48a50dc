SELECT
    p.source, p.event_id, p.provider, p.event_type, p.api_version, p.occurred_at, p.received_at,
    p.accept_seq, p.acceptance_id, p.delivery_id, p.item, p.traceparent,
    p.outcome, p.generation, p.effect_generation, p.processed_at, p.config_hash, p.error,
    p.duplicates, p.last_duplicate_at, p.body_differs,
    p.replay_suspect, p.retry_number, p.retry_reason,
    d.headers, d.content_type, d.body
FROM hooklatch.processed_events AS p
LEFT JOIN hooklatch.deliveries AS d ON d.delivery_id = p.delivery_id AND d.received_at = p.received_at
WHERE p.source = :source
    AND p.event_id = :event_id
