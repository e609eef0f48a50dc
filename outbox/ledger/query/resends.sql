-- Returns the keys of the effects that resend one effect, oldest first. Their scope contains the
-- key of that effect.
SELECT idempotency_key
FROM hooklatch.effects
WHERE scope = :scope
ORDER BY created_at, key
LIMIT :limit
