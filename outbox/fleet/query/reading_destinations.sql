-- Returns the open transactions of other sessions that have read the destinations. Such a
-- transaction may still enqueue an effect for a destination that has been removed since. Unless :of
-- is empty, only transactions in :of are returned.
SELECT COALESCE(array_agg(DISTINCT l.virtualtransaction), '{}')
FROM pg_catalog.pg_locks AS l
WHERE l.locktype = 'relation'
    AND l.relation = 'hooklatch.destinations'::regclass
    AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database())
    AND l.granted
    AND l.pid IS DISTINCT FROM pg_backend_pid()
    AND (:of::text[] = '{}' OR l.virtualtransaction = ANY (:of::text[]))
