-- Counts the effects of several events, by event and state. Each event, link and effect is a
-- separate look-up, whatever the statistics say.
SELECT a.source, a.event_id, e.state, count(*)
FROM :asked AS a (source text, event_id text)
CROSS JOIN LATERAL (
    SELECT p.source, p.event_id, p.received_at, p.processed_at, p.generation
    FROM hooklatch.processed_events AS p
    WHERE p.source = a.source
        AND p.event_id = a.event_id
    LIMIT 1
) AS p
CROSS JOIN LATERAL (
    {{links_of_event}}
    OFFSET 0
) AS l
CROSS JOIN LATERAL (
    SELECT e.state
    FROM hooklatch.effects AS e
    WHERE e.scope = l.scope
        AND e.key = l.key
        AND e.generation = l.generation
    LIMIT 1
) AS e
GROUP BY a.source, a.event_id, e.state
