-- The state of each list. Package measure reads the results of the last hour's passes.
SELECT
    c.source, c.stream, now(), c.created_at, c.covered_until, c.last_ok_at, c.next_at, c.failures, c.error, c.endpoint, c.endpoint_why, c.endpoint_at,
    waiting.count, compared.unlisted, compared.unlisted_event
FROM hooklatch.coverage AS c
CROSS JOIN LATERAL (
    SELECT count(*) AS count
    FROM hooklatch.redeliveries AS r
    WHERE r.source = c.source
        AND r.stream = c.stream
        AND r.ended_at IS NULL
) AS waiting
CROSS JOIN LATERAL (
    -- The complete list is read once per backfill.deep, which is a day by default.
    SELECT COALESCE(sum(b.unlisted), 0)::bigint AS unlisted, COALESCE(max(b.unlisted_event), '') AS unlisted_event
    FROM hooklatch.backfill_runs AS b
    WHERE b.source = ANY (ARRAY[c.source])
        AND b.stream = c.stream
        AND b.started_at > now() - interval '2 days'
) AS compared
ORDER BY c.source, c.stream
