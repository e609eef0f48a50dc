-- What people ordered, and the runs that have ended.
WITH runs AS (
    DELETE FROM hooklatch.replay_runs
    WHERE id = ANY (ARRAY(
        SELECT id
        FROM hooklatch.replay_runs
        WHERE state IN ('stopped', 'done', 'failed')
            AND since < :before
        ORDER BY id
        LIMIT :look
    ))
)
DELETE FROM hooklatch.operator_log
WHERE id = ANY (ARRAY(
    SELECT id
    FROM hooklatch.operator_log
    WHERE at < :before
    ORDER BY at, id
    LIMIT :look
))
