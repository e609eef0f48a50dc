-- Returns the reasons why ordered effects may not start. The caller holds the locks of the effects'
-- orders.
WITH effect AS MATERIALIZED (
    SELECT e.*
    FROM :asked AS asked (scope text, key text, generation integer)
    CROSS JOIN LATERAL (
        SELECT
            e.scope, e.key, e.generation, e.order_key, e.accept_seq, e.latest_key, e.occurred_at,
            -- An effect that an application or a handler enqueued waits for no event: it got its
            -- position when it was enqueued.
            CASE WHEN e.route <> '' THEN e.source END AS waits_for
        FROM hooklatch.effects AS e
        WHERE e.scope = asked.scope
            AND e.key = asked.key
            AND e.generation = asked.generation
        LIMIT 1 -- a single row, so that no plan starts with the waiting effects
    ) AS e
), undispatched AS MATERIALIZED (
    -- The look-up runs once for each source. While any transaction uses an old snapshot, the
    -- look-up also reads index entries of events that are already dispatched.
    SELECT source.waits_for, {{first_undispatched}} AS accept_seq
    FROM (SELECT DISTINCT waits_for FROM effect WHERE waits_for IS NOT NULL) AS source
)
SELECT
    e.scope, e.key, e.generation,
    {{behind_in_order}} AS behind,
    -- An effect that was enqueued or dispatched late may find a later effect being attempted.
    {{later_at_work}} OR COALESCE(undispatched.accept_seq < e.accept_seq, false) AS early,
    COALESCE((
        SELECT newest.idempotency_key
        FROM hooklatch.object_versions AS newest
        WHERE e.latest_key <> ''
            AND newest.scope = e.scope
            AND newest.latest_key = e.latest_key
            AND (newest.occurred_at, newest.accept_seq) > (e.occurred_at, e.accept_seq)
    ), '') AS superseded_by
FROM effect AS e
LEFT JOIN undispatched USING (waits_for)
