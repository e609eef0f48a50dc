-- Destinations whose River queue does not do as they say.
SELECT d.name
FROM hooklatch.destinations AS d
LEFT JOIN hooklatch.river_queue AS q ON q.name = d.queue
WHERE (q.paused_at IS NOT NULL) <> (
    (d.operator_paused OR d.breaker_state <> 'closed') AND NOT EXISTS (
        SELECT
        FROM hooklatch.destinations AS other
        WHERE other.queue = d.queue
            AND other.name <> d.name
    )
)
ORDER BY d.name COLLATE "C"
