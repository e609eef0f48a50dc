-- Whoever adds to the quarantine sees all that others added. Returns the key that
-- secrets are sealed with.
SELECT k.hmac_key
FROM (SELECT pg_advisory_xact_lock(hashtextextended('hooklatch.quarantine', 0))) AS locked
CROSS JOIN hooklatch.quarantine_key AS k
