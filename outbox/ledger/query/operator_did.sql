-- Checks whether an earlier try of the same request has applied the action to the target.
SELECT EXISTS (
    SELECT
    FROM hooklatch.operator_log
    WHERE request_id = :request_id
        AND action = :action
        AND target = :target
)
