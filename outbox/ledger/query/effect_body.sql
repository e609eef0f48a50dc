-- The body of a granted effect, which no longer changes.
SELECT request_body
FROM hooklatch.effects
WHERE scope = :scope
    AND key = :key
    AND generation = :generation
