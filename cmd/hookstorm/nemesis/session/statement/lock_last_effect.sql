SELECT key
FROM hooklatch.effects
WHERE state IN ('pending', 'started', 'in_doubt')
    AND next_attempt_at < now() + interval '1 second'
ORDER BY scope COLLATE "C" DESC, key COLLATE "C" DESC, generation DESC
LIMIT 1
FOR UPDATE SKIP LOCKED
