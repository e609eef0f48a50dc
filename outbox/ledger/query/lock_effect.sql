SELECT
FROM hooklatch.effects
WHERE scope = $1
    AND key = $2
    AND generation = $3
FOR UPDATE
