-- Records the time at which counts last increased, in key order, to avoid deadlocks with other
-- processes that record the same counts. Counts that waited for the database are dated to the end
-- of their minute.
INSERT INTO hooklatch.last_seen AS s (kind, name, what, seen_at)
SELECT a.kind, a.name, a.what, max(LEAST(now(), now() - make_interval(secs => a.seconds_ago) + interval '1 minute'))
FROM :added AS a (seconds_ago float8, kind text, name text, what text, n bigint)
GROUP BY a.kind, a.name, a.what
ORDER BY a.kind COLLATE "C", a.name COLLATE "C", a.what COLLATE "C"
ON CONFLICT (kind, name, what) DO UPDATE
SET seen_at = EXCLUDED.seen_at
WHERE s.seen_at < EXCLUDED.seen_at
