-- Cancels or parks effects for an operator. If :doubt_since is not NULL, a restore may have lost
-- rows, and effects that are not in doubt yet count as possibly applied since that time.
WITH chosen AS (
    {{effects_of_keys}}
), locked AS (
    SELECT chosen.*, stands.state, stands.finished_at
    FROM chosen
    CROSS JOIN LATERAL (
        SELECT e.state, e.finished_at
        FROM hooklatch.effects AS e
        WHERE e.scope = chosen.scope
            AND e.key = chosen.key
            AND e.generation = chosen.generation
        FOR UPDATE
    ) AS stands
)
UPDATE hooklatch.effects AS e
SET
    state = :state,
    finished_at = now(),
    claim_id = NULL,
    lease_until = NULL,
    maybe_applied_since = COALESCE({{maybe_applied}}, :doubt_since::timestamptz),
    error = :error
FROM locked
WHERE {{same_effect}}
    AND {{still_chosen e=locked}}
RETURNING e.scope, e.key, e.generation, e.order_key, COALESCE(e.accept_seq, 0)
