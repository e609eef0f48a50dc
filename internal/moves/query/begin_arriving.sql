-- Prepares this cell to receive a source. Returns the progress of the move, which is empty for a
-- new move.
INSERT INTO hooklatch.source_moves AS m (source, move_id, from_cell)
VALUES (:source, :move_id, :from_cell)
ON CONFLICT (source) DO UPDATE
SET
    move_id = EXCLUDED.move_id,
    from_cell = EXCLUDED.from_cell,
    progress = CASE WHEN m.move_id = EXCLUDED.move_id THEN m.progress ELSE '{}' END,
    arrived_at = CASE WHEN m.move_id = EXCLUDED.move_id THEN m.arrived_at END
RETURNING progress
