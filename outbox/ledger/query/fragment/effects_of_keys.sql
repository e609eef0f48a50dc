-- Lists the effects of :idempotency_keys in the order in which their rows are locked. Each effect
-- is found by separate look-ups.
SELECT e.scope, e.key, e.generation
    FROM unnest(:idempotency_keys::text[]) AS asked (idempotency_key)
    CROSS JOIN {{hours_of_effects}} AS made (hour)
    CROSS JOIN LATERAL {{made_in_hour}} AS e
    ORDER BY e.scope COLLATE "C", e.key COLLATE "C", e.generation
