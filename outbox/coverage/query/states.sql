-- What is known of each list, with what passes over it found in the last hour.
SELECT
    c.source, c.stream, now(), c.created_at, c.covered_until, c.last_ok_at, c.next_at, c.failures, c.error, c.endpoint, c.endpoint_why, c.endpoint_at,
    waiting.count, found.recovered, found.lost, found.missing, found.oldest
FROM hooklatch.coverage AS c
CROSS JOIN LATERAL (
    SELECT count(*) AS count
    FROM hooklatch.redeliveries AS r
    WHERE r.source = c.source
        AND r.stream = c.stream
        AND r.ended_at IS NULL
) AS waiting
CROSS JOIN LATERAL (
    SELECT
        COALESCE(sum(b.recovered), 0)::bigint AS recovered, COALESCE(sum(b.lost), 0)::bigint AS lost, COALESCE(sum(b.missing), 0)::bigint AS missing,
        min(b.oldest) AS oldest
    FROM hooklatch.backfill_runs AS b
    WHERE b.started_at > now() - interval '1 hour'
        AND b.source = c.source
        AND b.stream = c.stream
) AS found
ORDER BY c.source, c.stream
