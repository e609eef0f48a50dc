-- Deletes expired rows of four kinds: operator actions, bulk runs that have ended, passes over
-- providers' lists, and redeliveries that have ended. Deletes at most :look rows of each kind.
-- Returns the number of actions deleted, and the largest number deleted from one table.
WITH actions AS (
    DELETE FROM hooklatch.operator_log
    WHERE id = ANY (ARRAY(
        SELECT id
        FROM hooklatch.operator_log
        WHERE at < :before
        ORDER BY at, id
        LIMIT :look
    ))
    RETURNING id
), runs AS (
    DELETE FROM hooklatch.replay_runs
    WHERE id = ANY (ARRAY(
        SELECT id
        FROM hooklatch.replay_runs
        WHERE state IN ('stopped', 'done', 'failed')
            AND since < :before
        ORDER BY id
        LIMIT :look
    ))
    RETURNING id
), passes AS (
    DELETE FROM hooklatch.backfill_runs
    WHERE run_id = ANY (ARRAY(
        SELECT run_id
        FROM hooklatch.backfill_runs
        WHERE started_at < :before
        ORDER BY started_at
        LIMIT :look
    ))
    RETURNING run_id
), redeliveries AS (
    DELETE FROM hooklatch.redeliveries AS r
    WHERE (r.source, r.event_id) IN (
        SELECT source, event_id
        FROM hooklatch.redeliveries
        WHERE ended_at < :before
        ORDER BY ended_at
        LIMIT :look
    )
    RETURNING r.event_id
)
SELECT
    (SELECT count(*) FROM actions) AS gone,
    greatest(
        (SELECT count(*) FROM actions),
        (SELECT count(*) FROM runs),
        (SELECT count(*) FROM passes),
        (SELECT count(*) FROM redeliveries)
    ) AS most
