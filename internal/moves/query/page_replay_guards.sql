-- Returns a page of a source's replay guards.
SELECT encode(g.hash, 'hex'), hooklatch.moving_content('replay_guards', to_jsonb(g))::text
FROM hooklatch.replay_guards AS g
WHERE g.source = :source
    AND g.hash > decode(:after, 'hex')
ORDER BY g.source, g.hash
LIMIT :limit
