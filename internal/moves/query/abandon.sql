-- Ends a move that has begun, unless the source has left. The move gets another id, so that a
-- command that still carries it out cannot complete it. A repeated call changes nothing, and
-- returns false. No row is returned if the source has left, moves to another cell, or has never
-- moved.
WITH begun AS MATERIALIZED (
    SELECT m.source, m.to_cell
    FROM hooklatch.source_moves AS m
    WHERE m.source = :source
        AND m.to_cell IN (:to_cell, '')
        AND m.moved_at IS NULL
    FOR UPDATE
)
UPDATE hooklatch.source_moves AS m
SET
    move_id = CASE WHEN begun.to_cell = '' THEN m.move_id ELSE gen_random_uuid() END,
    to_cell = '',
    fenced_until = '-infinity'
FROM begun
WHERE m.source = begun.source
RETURNING begun.to_cell <> ''
