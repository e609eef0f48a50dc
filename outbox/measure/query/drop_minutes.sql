-- Deletes the oldest expired counts, and counts from a clock that was ahead.
DELETE FROM hooklatch.minutes AS old
WHERE (old.minute, old.kind, old.name, old.what) IN (
    (
        SELECT o.minute, o.kind, o.name, o.what
        FROM hooklatch.minutes AS o
        WHERE o.minute < now() - make_interval(secs => :kept_seconds)
        ORDER BY o.minute
        LIMIT :limit
    )
    UNION ALL
    (
        SELECT o.minute, o.kind, o.name, o.what
        FROM hooklatch.minutes AS o
        WHERE o.minute > now() + interval '1 hour'
        ORDER BY o.minute
        LIMIT :limit
    )
)
