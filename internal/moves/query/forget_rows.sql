-- Deletes noted rows that were copied, by id. A range of ids would not do: a row with a smaller id
-- may have been committed after these rows were read.
DELETE FROM hooklatch.moving_rows
WHERE source = :source
    AND id = ANY (:ids::bigint[])
