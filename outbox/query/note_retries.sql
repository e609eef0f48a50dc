-- Adds senders' retry information to the statistics of their sources. Each source has a limited
-- number of separate reasons.
WITH said AS (
    SELECT r.source, r.retry_number, r.deliveries,
        CASE
            WHEN EXISTS (SELECT FROM hooklatch.retry_statistics AS s WHERE s.source = r.source AND s.reason = r.reason) THEN r.reason
            WHEN (SELECT count(DISTINCT s.reason) FROM hooklatch.retry_statistics AS s WHERE s.source = r.source) < :reasons THEN r.reason
            ELSE :other
        END AS reason
    FROM :retries AS r (source text, retry_number integer, reason text, deliveries bigint)
)
INSERT INTO hooklatch.retry_statistics AS known (source, reason, retry_number, deliveries)
SELECT source, reason, retry_number, sum(deliveries)
FROM said
GROUP BY source, reason, retry_number
ORDER BY source COLLATE "C", reason COLLATE "C", retry_number
ON CONFLICT (source, reason, retry_number) DO UPDATE
SET
    deliveries = known.deliveries + EXCLUDED.deliveries,
    last_at = EXCLUDED.last_at
