-- Deletes content guards whose window ended before :before.
DELETE FROM hooklatch.content_guards AS g
USING (
    SELECT source, hash
    FROM hooklatch.content_guards
    WHERE expires_at < :before
    ORDER BY expires_at
    LIMIT :look
) AS old
WHERE g.source = ANY (ARRAY[old.source])
    AND g.hash = old.hash
    AND g.expires_at < :before
