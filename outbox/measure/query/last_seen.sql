-- The time at which each count of one source or destination last increased.
SELECT what, seen_at
FROM hooklatch.last_seen
WHERE kind = :kind
    AND name = :name
