DELETE FROM hooklatch.workers
WHERE id = :id
