INSERT INTO hooklatch.effect_events (source, event_id, scope, key, generation, suppressed)
VALUES ('stripe', 'evt_1', 'route:stripe:all', 'evt_1', 1, false);
