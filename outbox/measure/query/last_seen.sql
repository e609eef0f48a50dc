-- When each thing of one source or destination was last counted.
SELECT what, seen_at
FROM hooklatch.last_seen
WHERE kind = :kind
    AND name = :name
