-- Every content window, with the event that opened it. A window whose expires_at equals its
-- accepted_at is left out. It was never open, because its event was already stored with another
-- body.
SELECT row_to_json(r)::text
FROM (
    SELECT source, encode(hash, 'hex') AS hash, event_id, acceptance_id, expires_at
    FROM hooklatch.content_guards
    WHERE expires_at > accepted_at
) AS r
