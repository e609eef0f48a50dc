-- Returns the given links that already exist. The fence prevents other transactions from linking
-- the effects of these events meanwhile.
SELECT l.accept_seq, l.scope, l.key, l.generation
FROM :links AS l (accept_seq bigint, source text, event_id text, scope text, key text, generation integer)
CROSS JOIN LATERAL (
    SELECT
    FROM hooklatch.all_links AS known
    WHERE known.source = l.source
        AND known.event_id = l.event_id
        AND known.scope = l.scope
        AND known.key = l.key
        AND known.generation = l.generation
    LIMIT 1 -- forces one look-up for each row
) AS known
