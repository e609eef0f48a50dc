-- Lists destinations, with the reason why a destination is blocked. Counts the unfinished effects
-- of each destination, and its late effects. A late effect was due before the given time, and waits
-- only for a worker.
WITH unfinished AS (
    SELECT
        e.destination, e.queue, e.next_attempt_at,
        e.state <> 'started'
            AND e.next_attempt_at < :late_before
            AND (e.order_key = '' OR NOT {{behind_in_order}}) AS is_late
    FROM hooklatch.effects AS e
    WHERE e.state IN ('pending', 'started', 'in_doubt')
), counted AS (
    SELECT
        destination, count(*) AS effects,
        count(*) FILTER (WHERE is_late) AS late,
        min(next_attempt_at) FILTER (WHERE is_late) AS late_since,
        (array_agg(queue ORDER BY next_attempt_at) FILTER (WHERE is_late))[1] AS late_queue
    FROM unfinished
    GROUP BY destination
)
SELECT
    COALESCE(d.name, c.destination), COALESCE(c.effects, 0), COALESCE(c.late, 0), c.late_since, q.updated_at AS reported_at,
    COALESCE(d.operator_paused, false), COALESCE(d.paused_by, ''), COALESCE(d.pause_reason, ''), d.paused_at,
    COALESCE(d.breaker_state <> 'closed', false), COALESCE(d.breaker_reason, ''), d.opened_at, d.probe_at
FROM counted AS c
FULL JOIN hooklatch.destinations AS d ON d.name = c.destination
LEFT JOIN hooklatch.river_queue AS q ON q.name = c.late_queue
ORDER BY 1
