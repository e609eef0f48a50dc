SELECT DISTINCT format('ALTER INDEX %s SET (fillfactor = 70)', x.indexrelid::regclass)
FROM pg_index AS x
JOIN pg_class AS c ON c.oid = x.indrelid
JOIN pg_attribute AS a ON a.attrelid = x.indrelid AND a.attnum = ANY (x.indkey)
WHERE c.relnamespace = 'hooklatch'::regnamespace
    AND c.relkind = 'r'
    AND a.attname IN ('event_id', 'key', 'idempotency_key')
