-- Makes this cell store the source's events, and ends an earlier move of the source away from it.
UPDATE hooklatch.source_moves
SET
    arrived_at = COALESCE(arrived_at, now()),
    to_cell = '',
    fenced_until = '-infinity',
    moved_at = NULL
WHERE source = :source
    AND move_id = :move_id
RETURNING source
