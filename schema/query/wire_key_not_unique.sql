ALTER TABLE hooklatch.effects DROP CONSTRAINT IF EXISTS effects_idempotency_key_key;
