-- The body of an effect that was granted: it does not change any more.
SELECT request_body
FROM hooklatch.effects
WHERE scope = $1
    AND key = $2
    AND generation = $3
