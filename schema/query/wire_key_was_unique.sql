SELECT EXISTS (
    SELECT
    FROM pg_constraint
    WHERE conrelid = to_regclass('hooklatch.effects')
        AND conname = 'effects_idempotency_key_key'
);
