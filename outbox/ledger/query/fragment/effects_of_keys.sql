-- The effects of :idempotency_keys, each by a look-up of its own, in the order in
-- which their rows are locked.
SELECT e.scope, e.key, e.generation
    FROM unnest(:idempotency_keys::text[]) AS asked (idempotency_key)
    CROSS JOIN LATERAL (
        SELECT e.scope, e.key, e.generation
        FROM hooklatch.effects AS e
        WHERE e.idempotency_key = asked.idempotency_key
        OFFSET 0
    ) AS e
    ORDER BY e.scope COLLATE "C", e.key COLLATE "C", e.generation
