-- Returns the newest events with an indexed value, at most :limit of each source.
SELECT p.source, p.event_id
FROM unnest(:sources::text[]) AS asked (source)
CROSS JOIN LATERAL (
    SELECT v.accept_seq
    FROM hooklatch.search_values AS v
    WHERE v.value = :value
        AND v.source = asked.source
    ORDER BY v.accept_seq DESC
    LIMIT :limit
) AS newest
CROSS JOIN LATERAL (
    SELECT p.source, p.event_id
    FROM hooklatch.processed_events AS p
    WHERE p.accept_seq = newest.accept_seq
    LIMIT 1
) AS p
