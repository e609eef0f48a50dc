-- Returns the state of each list. It does not return the results of the last hour's passes: package
-- measure reads them.
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
    -- Only a pass over the complete window counts unlisted events. By default such a pass runs once
    -- a day (backfill.deep), so two days contain at least one.
    SELECT COALESCE(sum(b.unlisted), 0)::bigint AS unlisted, COALESCE(max(b.unlisted_event), '') AS unlisted_event
    FROM hooklatch.backfill_runs AS b
    WHERE b.source = ANY (ARRAY[c.source])
        AND b.stream = c.stream
        AND b.started_at > now() - interval '2 days'
) AS compared
ORDER BY c.source, c.stream
