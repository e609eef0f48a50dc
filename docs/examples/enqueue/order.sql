-- An order and the e-mail it causes, one transaction:
--
--   psql "$DATABASE_URL" --set ON_ERROR_STOP=1 --set id=4711 --file order.sql
--
-- The e-mail is on its way exactly if the order is stored. Running it again for
-- the same order sends no second one.
BEGIN;

INSERT INTO orders (id, total)
VALUES (:'id', 99.90)
ON CONFLICT (id) DO NOTHING;

SELECT hooklatch.enqueue(
    'mail',
    'order-' || :'id',
    jsonb_build_object('to', 'ann@example.com', 'order', :'id', 'total', 99.90)
) AS is_new;

COMMIT;
