-- Deletes the oldest expired counts, and counts from a clock that was ahead.
DELETE FROM hooklatch.hours AS old
WHERE (old.hour, old.kind, old.name, old.what) IN (
    (
        SELECT o.hour, o.kind, o.name, o.what
        FROM hooklatch.hours AS o
        WHERE o.hour < now() - make_interval(secs => :kept_seconds)
        ORDER BY o.hour
        LIMIT :limit
    )
    UNION ALL
    (
        SELECT o.hour, o.kind, o.name, o.what
        FROM hooklatch.hours AS o
        WHERE o.hour > now() + interval '1 hour'
        ORDER BY o.hour
        LIMIT :limit
    )
)
