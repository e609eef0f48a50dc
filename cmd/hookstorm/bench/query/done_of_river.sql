SELECT count(*), coalesce(max(finalized_at), 'epoch')
FROM river_job
WHERE state = 'completed'
    AND created_at >= $1
