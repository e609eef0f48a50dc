-- Locks orders until the transaction ends, after all its rows and in one order.
-- Whoever changes which effect of an order is the first holds this lock when it
-- looks which one is now, so the last one to look sees all changes.
SELECT pg_advisory_xact_lock(lock)
FROM (
    SELECT DISTINCT hashtextextended('hooklatch.order' || chr(1) || o.scope || chr(1) || o.order_key, 0) AS lock
    FROM :orders AS o (scope text, order_key text)
    ORDER BY lock
) AS locks
