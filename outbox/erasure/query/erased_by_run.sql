-- The events that a bulk run has erased. The run's rows in the operator log have the id of the
-- request that started the run. The row of that request is excluded, because it affected nothing.
SELECT o.target
FROM hooklatch.replay_runs AS r
JOIN hooklatch.operator_log AS o ON o.request_id = r.request_id
WHERE r.id = :run
    AND o.action = 'event.erase'
    AND o.affected > 0
ORDER BY o.id
