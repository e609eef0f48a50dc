-- Waits for an earlier try of the same request if its COMMIT is still in progress.
SELECT pg_advisory_xact_lock(hashtextextended('hooklatch.operator:' || :request_id, 0))
