SELECT key
FROM hooklatch.effects
WHERE state IN ('pending', 'started', 'in_doubt')
ORDER BY scope COLLATE "C" DESC, key COLLATE "C" DESC, generation DESC
LIMIT 10000
FOR UPDATE
