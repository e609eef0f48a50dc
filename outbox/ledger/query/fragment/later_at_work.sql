-- True if an effect after the effect e in its order is being attempted. In an EXISTS, Postgres
-- would ignore the ORDER BY.
COALESCE((
    SELECT true
    FROM hooklatch.effects AS later
    WHERE later.scope = e.scope
        AND later.order_key = e.order_key
        AND later.order_key <> ''
        AND later.state = 'started'
        AND (later.accept_seq, later.key COLLATE "C", later.generation) > (e.accept_seq, e.key COLLATE "C", e.generation)
    ORDER BY later.created_at -- selects the index effects_at_work, so that no plan starts with the waiting effects
    LIMIT 1
), false)
