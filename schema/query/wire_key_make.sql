-- The hour comes first, so that new entries are on few pages. A look-up of a key searches the hours
-- one by one: outbox/ledger/query/fragment/made_in_hour.sql.
CREATE INDEX CONCURRENTLY effects_wire_key ON hooklatch.effects (
    date_bin('1 hour', created_at, TIMESTAMPTZ '2000-01-01 00:00:00+00'),
    hashtextextended(idempotency_key, 0)
);
