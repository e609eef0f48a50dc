-- Prevents a new move of a source from beginning before the transaction ends. No row is returned if
-- a new move has already begun.
SELECT source
FROM hooklatch.source_moves
WHERE source = :source
    AND to_cell = ''
FOR UPDATE
