-- The single route whose dispatch the event p awaits. No row: all routes.
SELECT r.route, r.new_keys, r.previous_outcome
FROM hooklatch.event_replays AS r
WHERE p.generation > 1
    AND p.outcome = 'received'
    AND r.source = p.source
    AND r.event_id = p.event_id
    AND r.generation = p.generation
    AND r.route <> ''
