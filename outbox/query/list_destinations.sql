SELECT
    d.name, d.kind, d.queue,
    EXISTS (
        SELECT
        FROM hooklatch.destinations AS other
        WHERE other.queue = d.queue
            AND other.name <> d.name
    ) AS shared_queue,
    d.registered_at, d.operator_paused, d.paused_by, d.pause_reason, d.paused_at,
    d.breaker_state, d.breaker_reason, d.opened_at, d.probe_at, d.epoch,
    q.paused_at IS NOT NULL AS queue_paused
FROM hooklatch.destinations AS d
LEFT JOIN hooklatch.river_queue AS q ON q.name = d.queue
ORDER BY d.name COLLATE "C"
