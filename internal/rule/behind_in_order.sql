-- True if an effect that was accepted before e keeps e waiting in their order.
EXISTS (
    SELECT
    FROM hooklatch.effects AS earlier
    WHERE earlier.scope = e.scope
        AND earlier.order_key = e.order_key
        AND earlier.order_key <> ''
        AND {{holds_its_order e=earlier}}
        AND (earlier.accept_seq, earlier.key COLLATE "C", earlier.generation) < (e.accept_seq, e.key COLLATE "C", e.generation)
)
