-- The counts of one source or destination in the last minutes.
SELECT m.what, sum(m.n)::bigint
FROM hooklatch.minutes AS m
WHERE m.minute > now() - make_interval(secs => :window_seconds::float8)
    AND m.minute <= now()
    AND m.kind = :kind
    AND m.name = :name
GROUP BY m.what
