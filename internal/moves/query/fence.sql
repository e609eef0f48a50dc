-- Refuses events of a source for some seconds. With 0 seconds, it ends the fence.
UPDATE hooklatch.source_moves
SET fenced_until = CASE WHEN :fence_secs::float8 > 0 THEN clock_timestamp() + make_interval(secs => :fence_secs::float8) ELSE '-infinity' END
WHERE source = :source
    AND moved_at IS NULL
RETURNING source
