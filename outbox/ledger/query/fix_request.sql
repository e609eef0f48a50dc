-- Commits what a late request was rendered to, for the attempt that runs. A
-- repeated call finds it fixed and gets the same.
WITH fixed AS (
    UPDATE hooklatch.effects
    SET
        request_method = CASE WHEN $6 = '' THEN request_method ELSE $6 END,
        request_url = CASE WHEN $7 = '' THEN request_url ELSE $7 END,
        request_headers = request_headers || $8::jsonb,
        request_type = $9,
        request_body = $10,
        request_rendering = 'done'
    WHERE scope = $1
        AND key = $2
        AND generation = $3
        AND attempt = $4
        AND claim_id = $5
        AND state = 'started'
        AND request_rendering = 'late'
    RETURNING request_method, request_url, request_headers, request_type, request_body
)
SELECT request_method, request_url, request_headers, request_type, request_body
FROM fixed
UNION ALL
SELECT request_method, request_url, request_headers, request_type, request_body
FROM hooklatch.effects
WHERE scope = $1
    AND key = $2
    AND generation = $3
    AND attempt = $4
    AND claim_id = $5
    AND state = 'started'
    AND request_rendering = 'done'
