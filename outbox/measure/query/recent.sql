-- The counts of the last minutes, summed by kind, name and what.
SELECT m.kind, m.name, m.what, sum(m.n)::bigint
FROM hooklatch.minutes AS m
WHERE m.minute > now() - make_interval(secs => :window_seconds::float8)
    AND m.minute <= now()
GROUP BY m.kind, m.name, m.what
