-- The columns of the event p that scanEvent reads first.
p.source, p.event_id, p.provider, p.event_type, p.api_version, p.occurred_at, p.received_at,
    p.accept_seq, p.acceptance_id, p.delivery_id, p.item, p.traceparent,
    p.outcome, p.generation, p.effect_generation, p.processed_at, p.config_hash, p.error,
    p.duplicates, p.last_duplicate_at, p.body_differs, p.duplicate_times,
    p.replay_suspect, p.retry_number, p.retry_reason, p.erased_at, p.redacted_at,
    CASE WHEN p.outcome = 'imported' THEN 'import' ELSE p.origin END AS origin, p.altered
