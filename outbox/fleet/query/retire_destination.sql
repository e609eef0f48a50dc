-- Removes a destination that no running process has. The row is locked already.
DELETE FROM hooklatch.destinations AS d
WHERE d.name = :destination
    AND NOT EXISTS (
        SELECT
        FROM hooklatch.workers AS w
        WHERE w.seen_at > now() - make_interval(secs => :seen_seconds::float8)
            AND d.name = ANY (w.destinations)
    )
