-- The body of an effect that was granted: it does not change any more.
SELECT request_body
FROM hooklatch.effects
WHERE scope = :scope
    AND key = :key
    AND generation = :generation
