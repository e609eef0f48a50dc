-- Stores the rendered form of a late request, for the running attempt. A repeated call changes
-- nothing and returns the stored form.
WITH locked AS (
    SELECT
        e.scope, e.key, e.generation, e.attempt, e.claim_id, e.state,
        e.request_rendering, e.request_method, e.request_url, e.request_headers, e.request_type, e.request_body
    FROM hooklatch.effects AS e
    WHERE e.scope = :scope
        AND e.key = :key
        AND e.generation = :generation
    FOR UPDATE
), granted AS (
    SELECT locked.*
    FROM locked
    WHERE locked.attempt = :attempt
        AND locked.claim_id = :claim_id
        AND locked.state = 'started'
), fixed AS (
    UPDATE hooklatch.effects AS e
    SET
        request_method = CASE WHEN :method = '' THEN e.request_method ELSE :method END,
        request_url = CASE WHEN :url = '' THEN e.request_url ELSE :url END,
        request_headers = e.request_headers || :headers::jsonb,
        request_type = :content_type,
        request_body = :body,
        request_rendering = 'done'
    FROM granted
    WHERE {{same_effect locked=granted}}
        AND granted.request_rendering = 'late'
    RETURNING e.request_method, e.request_url, e.request_headers, e.request_type, e.request_body
)
SELECT request_method, request_url, request_headers, request_type, request_body
FROM fixed
UNION ALL
SELECT request_method, request_url, request_headers, request_type, request_body
FROM granted
WHERE request_rendering = 'done'
