-- Adds a process's counts in key order, to avoid deadlocks with other processes that add to the
-- same rows. The added 30 seconds date a count to the middle of its minute. Small clock differences
-- and the transit time then do not move the count to another minute.
INSERT INTO hooklatch.minutes AS m (minute, kind, name, what, n)
SELECT
    date_trunc('minute', LEAST(now(), now() - make_interval(secs => a.seconds_ago) + interval '30 seconds'), 'UTC') AS minute,
    a.kind, a.name, a.what, sum(a.n)::bigint
FROM :added AS a (seconds_ago float8, kind text, name text, what text, n bigint)
GROUP BY 1, a.kind, a.name, a.what
ORDER BY 1, a.kind COLLATE "C", a.name COLLATE "C", a.what COLLATE "C"
ON CONFLICT (minute, kind, name, what) DO UPDATE
SET n = m.n + EXCLUDED.n
