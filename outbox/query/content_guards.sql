-- The events whose content windows are open.
SELECT g.source, g.hash, g.event_id, g.acceptance_id, g.accepted_at
FROM :contents AS known (source text, hash bytea)
CROSS JOIN LATERAL (
    SELECT g.source, g.hash, g.event_id, g.acceptance_id, g.accepted_at, g.expires_at
    FROM hooklatch.content_guards AS g
    WHERE g.source = known.source
        AND g.hash = known.hash
    OFFSET 0 -- each by a look-up of its own
) AS g
WHERE g.expires_at > now()
