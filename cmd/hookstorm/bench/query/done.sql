SELECT count(*), coalesce(max(finished_at), 'epoch')
FROM hooklatch.effects
WHERE state = 'done'
    AND created_at >= $1
