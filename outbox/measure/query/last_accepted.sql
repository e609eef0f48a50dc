-- The time at which an event of each source was last accepted, unless the source has moved to
-- another cell.
SELECT s.name, s.seen_at
FROM hooklatch.last_seen AS s
WHERE s.kind = 'source'
    AND s.what = 'accepted'
    AND NOT EXISTS (SELECT FROM hooklatch.source_moves AS m WHERE m.source = s.name AND m.moved_at IS NOT NULL)
