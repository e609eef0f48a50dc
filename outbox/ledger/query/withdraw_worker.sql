DELETE FROM hooklatch.workers
WHERE id = $1
