-- True if an earlier effect in the order of e keeps e waiting.
EXISTS (
    SELECT
    FROM hooklatch.effects AS earlier
    WHERE earlier.scope = e.scope
        AND earlier.order_key = e.order_key
        AND earlier.order_key <> ''
        AND {{holds_its_order e=earlier}}
        AND (earlier.accept_seq, earlier.key COLLATE "C", earlier.generation) < (e.accept_seq, e.key COLLATE "C", e.generation)
)
