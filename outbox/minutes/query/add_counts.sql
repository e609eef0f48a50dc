-- Adds what a process counted, in key order: others add to the same rows.
INSERT INTO hooklatch.minutes AS m (minute, kind, name, what, n)
SELECT a.minute, a.kind, a.name, a.what, a.n
FROM :added AS a (minute timestamptz, kind text, name text, what text, n bigint)
ORDER BY a.minute, a.kind COLLATE "C", a.name COLLATE "C", a.what COLLATE "C"
ON CONFLICT (minute, kind, name, what) DO UPDATE
SET n = m.n + EXCLUDED.n
