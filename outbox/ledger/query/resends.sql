-- The effects that repeat one effect, oldest first: their scope contains its key.
SELECT idempotency_key
FROM hooklatch.effects
WHERE scope = :scope
ORDER BY created_at, key
LIMIT :limit
