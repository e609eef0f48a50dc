-- Returns the oldest rows that were noted since the move began.
SELECT r.id, r.table_name, r.content::text
FROM hooklatch.moving_rows AS r
WHERE r.source = :source
ORDER BY r.source, r.id
LIMIT :limit
