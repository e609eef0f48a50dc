-- Cancels unfinished effects after a newer effect of the same object was applied, and links them to
-- that effect. The rows are locked already.
UPDATE hooklatch.effects AS e
SET
    state = 'cancelled',
    finished_at = now(),
    claim_id = NULL,
    lease_until = NULL,
    maybe_applied_since = {{maybe_applied}},
    superseded_by = s.superseded_by,
    error = 'superseded: ' || s.superseded_by || ', newer and of the same object, was applied'
FROM :superseded AS s (scope text, key text, generation integer, superseded_by text)
CROSS JOIN LATERAL (
    SELECT e.state
    FROM hooklatch.effects AS e
    WHERE e.scope = s.scope
        AND e.key = s.key
        AND e.generation = s.generation
    OFFSET 0 -- forces one look-up for each row
) AS stands
WHERE {{same_effect locked=s}}
    AND stands.state IN ('pending', 'started', 'in_doubt')
RETURNING e.scope, e.key, e.generation, e.error
