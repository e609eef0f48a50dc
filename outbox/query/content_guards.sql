-- The events whose content windows are open.
SELECT g.source, g.hash, g.event_id, g.acceptance_id, g.accepted_at
FROM :contents AS known (source text, hash bytea)
JOIN hooklatch.content_guards AS g USING (source, hash)
WHERE g.expires_at > now()
