-- Returns the states of a batch's attempts, if this settlement did not settle all of them. An
-- earlier try settled the other attempts and the response to its COMMIT was lost, or they had lost
-- their leases, or an operator put their effects aside. Each attempt is a separate look-up.
SELECT
    ended.scope, ended.key, ended.generation, ended.attempt,
    COALESCE(a.state, e.state) AS state,
    e.next_attempt_at,
    a.attempt IS NULL AS late
FROM :ended AS ended (scope text, key text, generation integer, attempt integer, claim_id uuid)
CROSS JOIN LATERAL (
    SELECT e.state, e.next_attempt_at
    FROM hooklatch.effects AS e
    WHERE e.scope = ended.scope
        AND e.key = ended.key
        AND e.generation = ended.generation
    OFFSET 0
) AS e
LEFT JOIN LATERAL (
    SELECT a.attempt, a.state
    FROM hooklatch.all_attempts AS a
    WHERE a.scope = ended.scope
        AND a.key = ended.key
        AND a.generation = ended.generation
        AND a.attempt = ended.attempt
        AND a.claim_id = ended.claim_id
        AND NOT a.lost
    OFFSET 0
) AS a ON true
