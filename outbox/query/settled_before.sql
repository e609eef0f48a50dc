-- Attempts that were settled by an earlier try of the same settlement, whose
-- COMMIT answer was lost.
SELECT a.scope, a.key, a.generation, a.attempt, a.state, e.next_attempt_at
FROM unnest($1::text[], $2::text[], $3::integer[], $4::integer[]) AS ended (scope, key, generation, attempt)
JOIN hooklatch.effect_attempts AS a USING (scope, key, generation, attempt)
JOIN hooklatch.effects AS e USING (scope, key, generation)
WHERE NOT a.lost
