-- True if the queue of the destination d should be paused. A shared queue is never paused: claims
-- refuse the destination instead.
(d.operator_paused OR d.breaker_state <> 'closed') AND NOT EXISTS (
    SELECT
    FROM hooklatch.destinations AS other
    WHERE other.queue = d.queue
        AND other.name <> d.name
)
