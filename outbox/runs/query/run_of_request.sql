SELECT id
FROM hooklatch.replay_runs
WHERE request_id = :request_id
