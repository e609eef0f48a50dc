-- Locks a request until the transaction ends. An earlier try of the same request that is still in
-- progress ends first.
SELECT pg_advisory_xact_lock(hashtextextended('hooklatch.operator:' || :request_id, 0))
