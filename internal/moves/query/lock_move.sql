-- Waits until all transactions that store events of the source have ended, and keeps others
-- waiting.
SELECT pg_advisory_xact_lock(hashtextextended('hooklatch.move ' || :source, 0))
