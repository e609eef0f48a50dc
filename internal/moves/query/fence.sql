-- Makes this cell refuse the events of a source for :fence_secs seconds. 0 ends the fence.
UPDATE hooklatch.source_moves
SET fenced_until = CASE WHEN :fence_secs::float8 > 0 THEN clock_timestamp() + make_interval(secs => :fence_secs::float8) ELSE '-infinity' END
WHERE source = :source
    AND moved_at IS NULL
RETURNING source
