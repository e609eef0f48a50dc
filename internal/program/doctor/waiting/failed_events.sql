-- Lists events whose dispatch failed permanently, by source, with the newest event's reason.
SELECT p.source, count(*) AS events, min(p.processed_at) AS since, max(p.processed_at) AS latest,
    (array_agg(p.error ORDER BY p.accept_seq DESC))[1] AS error
FROM hooklatch.processed_events AS p
WHERE p.outcome = 'failed'
GROUP BY p.source
ORDER BY p.source COLLATE "C"
