SELECT {{state}}
FROM hooklatch.replay_runs
WHERE id = :id
