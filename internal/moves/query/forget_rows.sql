-- Deletes noted rows that were copied. It names each: a row with a smaller number may have been
-- committed after they were read.
DELETE FROM hooklatch.moving_rows
WHERE source = :source
    AND id = ANY (:ids::bigint[])
