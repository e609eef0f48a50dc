-- Returns a page of a source's events, ordered by id.
SELECT p.event_id, hooklatch.moving_content('processed_events', to_jsonb(p))::text
FROM hooklatch.processed_events AS p
WHERE p.source = :source
    AND p.event_id > :after
ORDER BY p.source, p.event_id
LIMIT :limit
