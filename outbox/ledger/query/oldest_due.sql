-- The effect of a destination, in no order, that waits longest, or whose worker
-- was lost. A destination that is one of a list is worth sorting by: whatever Postgres
-- knows of the table, it then steps into effects_due, and does not walk what waits for
-- others.
SELECT e.scope, e.key, e.generation, e.next_attempt_at
FROM hooklatch.effects AS e
WHERE e.destination = ANY (ARRAY[:destination])
    AND e.order_key = ''
    AND e.state IN ('pending', 'started', 'in_doubt')
    AND e.next_attempt_at <= now()
    AND (e.state <> 'started' OR {{lease_over}})
ORDER BY e.destination, e.next_attempt_at
LIMIT 1
