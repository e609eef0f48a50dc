-- How attempts stand that this settlement did not settle: an earlier try of it
-- did, whose COMMIT answer was lost, or the attempt had lost its lease, or a
-- person put the effect aside.
SELECT
    ended.scope, ended.key, ended.generation, ended.attempt,
    COALESCE(a.state, e.state) AS state,
    e.next_attempt_at,
    a.attempt IS NULL AS late
FROM :ended AS ended (scope text, key text, generation integer, attempt integer)
JOIN hooklatch.effects AS e USING (scope, key, generation)
LEFT JOIN hooklatch.effect_attempts AS a
    ON a.scope = ended.scope
    AND a.key = ended.key
    AND a.generation = ended.generation
    AND a.attempt = ended.attempt
    AND NOT a.lost
