-- The effect that waits longest, or whose worker was lost, except those that a
-- claim would tell to wait: as in order_turns.sql, for what comes before them in
-- their order, or is at work, or for an event that is not dispatched yet.
SELECT e.scope, e.key, e.generation
FROM hooklatch.effects AS e
WHERE e.destination = :destination
    AND e.state IN ('pending', 'started', 'in_doubt')
    AND e.next_attempt_at <= now()
    AND (e.state <> 'started' OR e.lease_until < now())
    AND (e.state = 'started' OR e.order_key = '' OR NOT (
        {{behind_in_order}} OR EXISTS (
            SELECT
            FROM hooklatch.effects AS later
            WHERE later.scope = e.scope
                AND later.order_key = e.order_key
                AND later.order_key <> ''
                AND later.state = 'started'
                AND (later.accept_seq, later.key COLLATE "C", later.generation) > (e.accept_seq, e.key COLLATE "C", e.generation)
        ) OR EXISTS (
            SELECT
            FROM hooklatch.processed_events AS p
            WHERE p.source = e.source
                AND p.outcome = 'received'
                AND p.accept_seq < e.accept_seq
        )
    ))
ORDER BY e.next_attempt_at
LIMIT 1
