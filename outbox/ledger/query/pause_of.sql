-- Whether the queue of a destination should be paused, and whether it is. A
-- queue that others use never is: claims refuse the destination instead.
SELECT
    d.queue,
    (d.operator_paused OR d.breaker_state <> 'closed') AND NOT EXISTS (
        SELECT
        FROM hooklatch.destinations AS other
        WHERE other.queue = d.queue
            AND other.name <> d.name
    ) AS pause,
    EXISTS (
        SELECT
        FROM hooklatch.river_queue AS q
        WHERE q.name = d.queue
            AND q.paused_at IS NOT NULL
    ) AS is_paused
FROM hooklatch.destinations AS d
WHERE d.name = :destination
