-- The events whose content windows are open.
SELECT g.source, g.hash, g.event_id, g.acceptance_id, g.accepted_at
FROM unnest($1::text[], $2::bytea[]) AS known (source, hash)
JOIN hooklatch.content_guards AS g USING (source, hash)
WHERE g.expires_at > now()
