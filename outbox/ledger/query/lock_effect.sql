SELECT
FROM hooklatch.effects
WHERE scope = :scope
    AND key = :key
    AND generation = :generation
FOR UPDATE
