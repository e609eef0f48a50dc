-- From now on, the source's events are stored here. This also ends an earlier move away from here.
UPDATE hooklatch.source_moves
SET
    arrived_at = COALESCE(arrived_at, now()),
    to_cell = '',
    fenced_until = '-infinity',
    moved_at = NULL
WHERE source = :source
    AND move_id = :move_id
RETURNING source
