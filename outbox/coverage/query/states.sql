-- The state of each list. Package measure reads the results of the last hour's passes.
SELECT
    c.source, c.stream, now(), c.created_at, c.covered_until, c.last_ok_at, c.next_at, c.failures, c.error, c.endpoint, c.endpoint_why, c.endpoint_at,
    waiting.count
FROM hooklatch.coverage AS c
CROSS JOIN LATERAL (
    SELECT count(*) AS count
    FROM hooklatch.redeliveries AS r
    WHERE r.source = c.source
        AND r.stream = c.stream
        AND r.ended_at IS NULL
) AS waiting
ORDER BY c.source, c.stream
