-- Like order_lock.sql, but without waiting. Returns for each order whether this transaction has
-- locked it.
SELECT o.scope, o.order_key, pg_try_advisory_xact_lock(hashtextextended('hooklatch.order' || chr(1) || o.scope || chr(1) || o.order_key, 0)) AS locked
FROM :orders AS o (scope text, order_key text)
