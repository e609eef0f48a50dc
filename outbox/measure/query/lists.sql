-- The coverage of each source whose provider has a list, the state of Hooklatch's endpoint at the
-- provider, and the results of the last hour's passes. If a source has several accounts, the row
-- contains the worst coverage, failures and endpoint among them.
WITH lists AS MATERIALIZED (
    SELECT
        c.source, min(c.covered_until) AS covered_until, max(c.lists_secs) AS lists_secs, max(c.failures) AS failures, max(c.error) AS error,
        min(c.endpoint) FILTER (WHERE c.endpoint <> '') AS endpoint, -- foreign, then off, then on
        COALESCE(max(c.endpoint_why) FILTER (WHERE c.endpoint IN ('off', 'foreign')), '') AS why,
        min(c.endpoint_at) FILTER (WHERE c.endpoint IN ('off', 'foreign')) AS off_since
    FROM hooklatch.coverage AS c
    GROUP BY c.source
)
SELECT
    lists.source, lists.covered_until, lists.lists_secs, lists.failures, lists.error, COALESCE(lists.endpoint, '') AS endpoint, lists.why, lists.off_since,
    found.listed, found.recovered, found.reported, found.lost, found.oldest
FROM lists
CROSS JOIN LATERAL (
    SELECT
        COALESCE(sum(b.listed), 0)::bigint AS listed, COALESCE(sum(b.recovered), 0)::bigint AS recovered,
        COALESCE(max(b.missing) FILTER (WHERE b.mode = 'report'), 0)::bigint AS reported, COALESCE(sum(b.lost), 0)::bigint AS lost, min(b.oldest) AS oldest
    FROM hooklatch.backfill_runs AS b
    WHERE b.source = ANY (ARRAY[lists.source])
        AND b.started_at > now() - interval '1 hour'
) AS found
ORDER BY lists.source
