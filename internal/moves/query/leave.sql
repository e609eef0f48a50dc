-- Hands a source over to the other cell. The caller holds the lock of lock_move.sql. No row is
-- returned if the fence has ended, or if a noted row is not copied yet.
UPDATE hooklatch.source_moves AS m
SET moved_at = now()
WHERE m.source = :source
    AND m.move_id = :move_id
    AND m.moved_at IS NULL
    AND m.fenced_until > clock_timestamp()
    AND NOT EXISTS (SELECT FROM hooklatch.moving_rows AS r WHERE r.source = m.source)
RETURNING m.source
