-- Keeps a new move of a source from beginning until the transaction ends. No row is returned if one
-- has begun.
SELECT source
FROM hooklatch.source_moves
WHERE source = :source
    AND to_cell = ''
FOR UPDATE
