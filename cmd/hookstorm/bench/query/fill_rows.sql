INSERT INTO hooklatch.%[1]s OVERRIDING SYSTEM VALUE
SELECT copy.*
FROM pg_temp.filling AS f
CROSS JOIN pg_temp.life_%[1]s AS s
CROSS JOIN LATERAL jsonb_populate_record(s, f.changes || %[2]s) AS copy
