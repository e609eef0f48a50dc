INSERT INTO hooklatch.exported_days (day)
VALUES (:day)
ON CONFLICT (day) DO NOTHING
