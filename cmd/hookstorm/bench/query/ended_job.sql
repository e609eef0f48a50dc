SELECT state::text, extract(epoch FROM finalized_at - attempted_at)::float8
FROM hooklatch.river_job
WHERE id = $1
    AND finalized_at IS NOT NULL
