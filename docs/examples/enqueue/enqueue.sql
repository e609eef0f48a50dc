-- Transactions that store orders and enqueue the calls for them:
--
--   psql "$DATABASE_URL" --set ON_ERROR_STOP=1 --file enqueue.sql
--
-- The file needs a table orders (id, total), and a destination crm that a worker has registered.
-- Hooklatch makes a call if and only if its order is stored.

-- Committed: Hooklatch makes the call.
BEGIN;
INSERT INTO orders (id, total) VALUES (1001, 99.90);
SELECT hooklatch.enqueue('crm', 'order-1001', jsonb_build_object('order', 1001, 'total', 99.90)) AS is_new;
COMMIT;

-- Rolled back: neither the order nor the call exists.
BEGIN;
INSERT INTO orders (id, total) VALUES (1002, 12.50);
SELECT hooklatch.enqueue('crm', 'order-1002', jsonb_build_object('order', 1002, 'total', 12.50)) AS is_new;
ROLLBACK;

-- The same key twice: a program repeats its transaction if it does not know whether the COMMIT
-- succeeded. Hooklatch makes one call, with the first body.
BEGIN;
INSERT INTO orders (id, total) VALUES (1003, 7.00);
SELECT hooklatch.enqueue('crm', 'order-1003', jsonb_build_object('order', 1003, 'total', 7.00)) AS is_new;
COMMIT;
BEGIN;
INSERT INTO orders (id, total) VALUES (1003, 7.00) ON CONFLICT (id) DO NOTHING;
SELECT hooklatch.enqueue('crm', 'order-1003', jsonb_build_object('order', 1003, 'total', 7.00)) AS is_new;
COMMIT;

-- A body that is not JSON, and a header.
SELECT hooklatch.enqueue_bytes('crm', 'export-1', convert_to(E'id;total\n1001;99.90\n', 'UTF8'), 'text/csv', '{"X-Export": "daily"}') AS is_new;
