-- Returns a page of a source's content windows.
SELECT encode(g.hash, 'hex'), hooklatch.moving_content('content_guards', to_jsonb(g))::text
FROM hooklatch.content_guards AS g
WHERE g.source = :source
    AND g.hash > decode(:after, 'hex')
ORDER BY g.source, g.hash
LIMIT :limit
