DELETE FROM hooklatch.processes
WHERE name = :name
