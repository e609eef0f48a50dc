-- The event that opened each content window.
SELECT row_to_json(r)::text
FROM (
    SELECT source, encode(hash, 'hex') AS hash, event_id, acceptance_id, expires_at
    FROM hooklatch.content_guards
) AS r
