-- The events that a run has erased. The rows of a run have the request id of its order; the row
-- of the order itself changed nothing.
SELECT o.target
FROM hooklatch.replay_runs AS r
JOIN hooklatch.operator_log AS o ON o.request_id = r.request_id
WHERE r.id = :run
    AND o.action = 'event.erase'
    AND o.affected > 0
ORDER BY o.id
