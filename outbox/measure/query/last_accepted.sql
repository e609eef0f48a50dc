-- When something was last accepted of each source.
SELECT s.name, s.seen_at
FROM hooklatch.last_seen AS s
WHERE s.kind = 'source'
    AND s.what = 'accepted'
