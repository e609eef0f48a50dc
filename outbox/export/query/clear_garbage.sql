-- Forgets the names of deleted files.
UPDATE hooklatch.exported_days
SET garbage = ARRAY(SELECT g FROM unnest(garbage) AS g WHERE NOT g = ANY (:names::text[]))
WHERE day = :day
