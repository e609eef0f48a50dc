-- The events that a run has erased. A run's rows have the request id of the run's request. The row
-- of the request itself is excluded, because it affected nothing.
SELECT o.target
FROM hooklatch.replay_runs AS r
JOIN hooklatch.operator_log AS o ON o.request_id = r.request_id
WHERE r.id = :run
    AND o.action = 'event.erase'
    AND o.affected > 0
ORDER BY o.id
