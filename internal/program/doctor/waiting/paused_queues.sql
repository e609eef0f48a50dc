-- Lists paused queues without a blocked destination: an operator paused them in River itself, for
-- example with River UI.
SELECT q.name, q.paused_at
FROM hooklatch.river_queue AS q
WHERE q.paused_at IS NOT NULL
    AND NOT EXISTS (
        SELECT
        FROM hooklatch.destinations AS d
        WHERE d.queue = q.name
            AND (d.operator_paused OR d.breaker_state <> 'closed')
    )
ORDER BY q.name COLLATE "C"
