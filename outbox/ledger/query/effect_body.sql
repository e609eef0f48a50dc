-- Returns the body that a granted effect sends. This body no longer changes.
SELECT request_body
FROM hooklatch.effects
WHERE scope = :scope
    AND key = :key
    AND generation = :generation
