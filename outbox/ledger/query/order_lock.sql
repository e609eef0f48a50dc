-- Locks orders until the transaction ends. The transaction takes these locks in the order of their
-- numbers, after all its row locks. A transaction that changes the first effect of an order holds
-- this lock when it looks up the new first effect. The last transaction to look therefore sees all
-- changes.
SELECT pg_advisory_xact_lock(lock)
FROM (
    SELECT DISTINCT hashtextextended('hooklatch.order' || chr(1) || o.scope || chr(1) || o.order_key, 0) AS lock
    FROM :orders AS o (scope text, order_key text)
    ORDER BY lock
) AS locks
