-- Records the position up to which the rows of one table are copied.
UPDATE hooklatch.source_moves
SET progress = progress || jsonb_build_object(:table_name::text, :position::jsonb)
WHERE source = :source
    AND move_id = :move_id
RETURNING source
