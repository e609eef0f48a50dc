-- The time at which an event of each source was last accepted.
SELECT s.name, s.seen_at
FROM hooklatch.last_seen AS s
WHERE s.kind = 'source'
    AND s.what = 'accepted'
