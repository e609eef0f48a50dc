-- Hands a source over to the other cell. The move is locked. It does not happen if rows were noted
-- that are not copied yet, because the fence has ended meanwhile.
UPDATE hooklatch.source_moves AS m
SET moved_at = now()
WHERE m.source = :source
    AND m.move_id = :move_id
    AND m.moved_at IS NULL
    AND m.fenced_until > clock_timestamp()
    AND NOT EXISTS (SELECT FROM hooklatch.moving_rows AS r WHERE r.source = m.source)
RETURNING m.source
