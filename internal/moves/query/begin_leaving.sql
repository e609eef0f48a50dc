-- Begins a move of a source to another cell, or continues the move. No row is returned if the
-- source has moved to a different cell.
INSERT INTO hooklatch.source_moves AS m (source, move_id, to_cell)
VALUES (:source, gen_random_uuid(), :to_cell)
ON CONFLICT (source) DO UPDATE
SET
    move_id = CASE WHEN m.to_cell = EXCLUDED.to_cell THEN m.move_id ELSE EXCLUDED.move_id END,
    to_cell = EXCLUDED.to_cell
WHERE m.moved_at IS NULL OR m.to_cell = EXCLUDED.to_cell
RETURNING move_id, moved_at IS NOT NULL
