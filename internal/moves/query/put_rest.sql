-- Writes the data that rest.sql returned. Each list is due here immediately: a pass that still runs
-- in the other cell cannot store events there, because the source is fenced.
WITH lists AS (
    INSERT INTO hooklatch.coverage AS c (source, stream, created_at, covered_until, deep_until, pass_until, page_token, lists_secs, mark, next_at, retry_after)
    SELECT m.source, m.stream, m.created_at, m.covered_until, m.deep_until, m.pass_until, m.page_token, m.lists_secs, m.mark, now(), m.retry_after
    FROM jsonb_populate_recordset(NULL::hooklatch.coverage, :contents::jsonb -> 'coverage') AS m
    ON CONFLICT (source, stream) DO UPDATE
    SET
        covered_until = EXCLUDED.covered_until,
        deep_until = EXCLUDED.deep_until,
        pass_until = EXCLUDED.pass_until,
        page_token = EXCLUDED.page_token,
        lists_secs = EXCLUDED.lists_secs,
        mark = EXCLUDED.mark,
        next_at = EXCLUDED.next_at,
        retry_after = EXCLUDED.retry_after,
        fence = c.fence + 1
), asked AS (
    INSERT INTO hooklatch.redeliveries (source, event_id, stream, ref, happened_at, asked_at, tries, ended_at, outcome)
    SELECT m.source, m.event_id, m.stream, m.ref, m.happened_at, m.asked_at, m.tries, m.ended_at, m.outcome
    FROM jsonb_populate_recordset(NULL::hooklatch.redeliveries, :contents::jsonb -> 'redeliveries') AS m
    ON CONFLICT DO NOTHING
), keys AS (
    INSERT INTO hooklatch.sender_keys (source, key_id, document, proven_at)
    SELECT m.source, m.key_id, m.document, m.proven_at
    FROM jsonb_populate_recordset(NULL::hooklatch.sender_keys, :contents::jsonb -> 'sender_keys') AS m
    ON CONFLICT DO NOTHING
)
INSERT INTO hooklatch.known_addresses (source, address, accepted_at)
SELECT m.source, m.address, m.accepted_at
FROM jsonb_populate_recordset(NULL::hooklatch.known_addresses, :contents::jsonb -> 'known_addresses') AS m
ON CONFLICT DO NOTHING
