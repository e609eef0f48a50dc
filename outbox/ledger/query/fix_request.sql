-- Commits what a late request was rendered to, for the attempt that runs. A
-- repeated call finds it fixed and gets the same.
WITH fixed AS (
    UPDATE hooklatch.effects
    SET
        request_method = CASE WHEN :method = '' THEN request_method ELSE :method END,
        request_url = CASE WHEN :url = '' THEN request_url ELSE :url END,
        request_headers = request_headers || :headers::jsonb,
        request_type = :content_type,
        request_body = :body,
        request_rendering = 'done'
    WHERE scope = :scope
        AND key = :key
        AND generation = :generation
        AND attempt = :attempt
        AND claim_id = :claim_id
        AND state = 'started'
        AND request_rendering = 'late'
    RETURNING request_method, request_url, request_headers, request_type, request_body
)
SELECT request_method, request_url, request_headers, request_type, request_body
FROM fixed
UNION ALL
SELECT request_method, request_url, request_headers, request_type, request_body
FROM hooklatch.effects
WHERE scope = :scope
    AND key = :key
    AND generation = :generation
    AND attempt = :attempt
    AND claim_id = :claim_id
    AND state = 'started'
    AND request_rendering = 'done'
