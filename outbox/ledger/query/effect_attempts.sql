SELECT attempt, started_at, finished_at, lost, state, applied, response_status, response_excerpt, error, job_id, key_rotation
FROM hooklatch.effect_attempts
WHERE scope = $1
    AND key = $2
    AND generation = $3
ORDER BY attempt
