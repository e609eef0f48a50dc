-- Records which parts of stored deliveries repeat a stored event, of the same delivery or another.
INSERT INTO hooklatch.delivery_copies (source, event_id, delivery_id, item)
SELECT c.source, c.event_id, c.delivery_id, c.item
FROM :copies AS c (source text, event_id text, delivery_id uuid, item text)
ORDER BY c.source COLLATE "C", c.event_id COLLATE "C", c.delivery_id, c.item
ON CONFLICT DO NOTHING
