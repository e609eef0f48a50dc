-- Lets one transaction at a time add to the quarantine, so that each sees the rows of the others.
-- Returns the key with which secrets are sealed.
SELECT k.hmac_key
FROM (SELECT pg_advisory_xact_lock(hashtextextended('hooklatch.quarantine', 0))) AS locked
CROSS JOIN hooklatch.quarantine_key AS k
