-- The same without waiting. Says which orders it got.
SELECT o.scope, o.order_key, pg_try_advisory_xact_lock(hashtextextended('hooklatch.order' || chr(1) || o.scope || chr(1) || o.order_key, 0)) AS locked
FROM unnest($1::text[], $2::text[]) AS o (scope, order_key)
