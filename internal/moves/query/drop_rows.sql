-- Deletes the oldest rows that were noted for a move.
DELETE FROM hooklatch.moving_rows
WHERE source = :source
    AND id = ANY (ARRAY(
        SELECT r.id
        FROM hooklatch.moving_rows AS r
        WHERE r.source = :source
        ORDER BY r.source, r.id
        LIMIT :limit
    ))
