-- Returns the destination's unordered effect that has been due longest. A started effect is due if
-- its worker was lost. With the destination as a one-element list, sorting by it is not redundant.
-- Postgres then steps into effects_due, whatever the statistics say, and does not scan effects
-- waiting for other destinations.
SELECT e.scope, e.key, e.generation, e.next_attempt_at
FROM hooklatch.effects AS e
WHERE e.destination = ANY (ARRAY[:destination])
    AND e.order_key = ''
    AND e.state IN ('pending', 'started', 'in_doubt')
    AND e.next_attempt_at <= now()
    AND (e.state <> 'started' OR {{lease_over}})
ORDER BY e.destination, e.next_attempt_at
LIMIT 1
