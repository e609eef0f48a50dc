-- The one route that the event p waits for the dispatch of. No row: for that of all.
SELECT r.route, r.new_keys, r.previous_outcome
FROM hooklatch.event_replays AS r
WHERE p.generation > 1
    AND p.outcome = 'received'
    AND r.source = p.source
    AND r.event_id = p.event_id
    AND r.generation = p.generation
    AND r.route <> ''
