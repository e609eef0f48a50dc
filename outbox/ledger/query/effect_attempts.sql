SELECT attempt, started_at, finished_at, lost, state, applied, response_status, response_excerpt, error, job_id, key_rotation
FROM hooklatch.all_attempts
WHERE scope = :scope
    AND key = :key
    AND generation = :generation
ORDER BY attempt
