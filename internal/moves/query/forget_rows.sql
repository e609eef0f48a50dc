-- Deletes noted rows that were copied, by their ids. A range of ids could contain a row that was
-- not copied: a row with a smaller id may have been committed after these rows were read.
DELETE FROM hooklatch.moving_rows
WHERE source = :source
    AND id = ANY (:ids::bigint[])
