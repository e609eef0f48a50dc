-- The key on the wire is a hash of scope, key and generation, and as unique as they
-- are. A unique index of its own is one more random page for each effect: Up replaces
-- it by one in which the effects of an hour stand together.
--
-- Locks: none. After the last migration Up builds the index concurrently, which
-- waits for transactions but lets nobody wait, and then drops the constraint: that
-- locks effects exclusively for the moment it takes to change the catalogue.
COMMENT ON COLUMN hooklatch.effects.idempotency_key IS 'A hash of scope, key and generation, which make it unique. effects_wire_key finds it, hour by hour.';
