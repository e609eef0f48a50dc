-- What stands between ordered effects and their attempt, for callers that hold
-- the locks of their orders.
SELECT
    e.scope, e.key, e.generation,
    {{behind_in_order}} AS behind,
    -- One that was enqueued or dispatched late finds a later one at work.
    EXISTS (
        SELECT
        FROM hooklatch.effects AS later
        WHERE later.scope = e.scope
            AND later.order_key = e.order_key
            AND later.order_key <> ''
            AND later.state = 'started'
            AND (later.accept_seq, later.key COLLATE "C", later.generation) > (e.accept_seq, e.key COLLATE "C", e.generation)
    ) OR EXISTS (
        SELECT
        FROM hooklatch.processed_events AS p
        WHERE e.route <> '' -- what a handler enqueued has its place already
            AND p.source = e.source
            AND p.outcome = 'received'
            AND p.accept_seq < e.accept_seq
    ) AS early,
    COALESCE(newest.idempotency_key, '') AS superseded_by
FROM :asked AS asked (scope text, key text, generation integer)
JOIN hooklatch.effects AS e USING (scope, key, generation)
LEFT JOIN hooklatch.object_versions AS newest
    ON e.latest_key <> ''
    AND newest.scope = e.scope
    AND newest.latest_key = e.latest_key
    AND (newest.occurred_at, newest.accept_seq) > (e.occurred_at, e.accept_seq)
