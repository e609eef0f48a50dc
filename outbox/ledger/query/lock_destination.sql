SELECT name
FROM hooklatch.destinations
WHERE name = $1
FOR UPDATE
