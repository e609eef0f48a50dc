-- Locks effects exclusively while it builds the unique index.
COMMENT ON COLUMN hooklatch.effects.idempotency_key IS NULL;
DROP INDEX IF EXISTS hooklatch.effects_wire_key;
ALTER TABLE hooklatch.effects DROP CONSTRAINT IF EXISTS effects_idempotency_key_key;
ALTER TABLE hooklatch.effects ADD CONSTRAINT effects_idempotency_key_key UNIQUE (idempotency_key);
