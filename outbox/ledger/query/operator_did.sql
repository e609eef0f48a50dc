-- Whether an earlier try of the same request was committed.
SELECT EXISTS (
    SELECT
    FROM hooklatch.operator_log
    WHERE request_id = $1
        AND action = $2
        AND target = $3
)
