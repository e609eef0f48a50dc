-- Cancels the effects of the other cell that this transaction has registered here: the other cell
-- performs them. The cancelled effects have no request here, so a retry is refused, like a retry of
-- an erased effect.
UPDATE hooklatch.effects AS e
SET
    state = 'cancelled',
    finished_at = now(),
    erased_at = now(),
    error = 'in the cell ' || :from_cell::text || ', which has performed this effect or still performs it'
FROM jsonb_to_recordset(:contents::jsonb) AS m (scope text, key text, generation integer)
WHERE e.scope = m.scope
    AND e.key = m.key
    AND e.generation = m.generation
