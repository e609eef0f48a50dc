-- Removes the names of deleted files from the row of a day.
UPDATE hooklatch.exported_days
SET garbage = ARRAY(SELECT g FROM unnest(garbage) AS g WHERE NOT g = ANY (:names::text[]))
WHERE day = :day
