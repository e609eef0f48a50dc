-- Every ended attempt.
SELECT row_to_json(r)::text
FROM (
    SELECT
        scope, key, generation, attempt, started_at, finished_at, lost, state, applied, response_status, error, claim_id, key_rotation
    FROM hooklatch.all_attempts
) AS r
