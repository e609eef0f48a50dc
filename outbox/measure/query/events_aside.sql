-- The number of events that need attention, by source and outcome, among the newest :most.
SELECT p.source, p.outcome, count(*) AS events, min(p.received_at) AS since
FROM (
    SELECT p.source, p.outcome, p.received_at
    FROM hooklatch.processed_events AS p
    WHERE p.outcome IN ('failed', 'held')
    ORDER BY p.accept_seq DESC
    LIMIT :most
) AS p
GROUP BY p.source, p.outcome
