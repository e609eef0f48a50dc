-- The event that opened each content window. A window without duration was closed in the transaction
-- that opened it, because its event was stored before with another body: it was never open.
SELECT row_to_json(r)::text
FROM (
    SELECT source, encode(hash, 'hex') AS hash, event_id, acceptance_id, expires_at
    FROM hooklatch.content_guards
    WHERE expires_at > accepted_at
) AS r
