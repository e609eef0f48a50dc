-- The links of the event p to its effects, and to effects of earlier events with the same keys. The
-- links of an event that was never replayed are as old as its dispatch: only partitions around that
-- time are read. The links of a replayed event may be in any partition since the event was
-- received.
SELECT l.scope, l.key, l.generation
FROM hooklatch.all_links AS l
WHERE l.source = p.source
    AND l.event_id = p.event_id
    AND l.linked_at >= CASE p.generation WHEN 1 THEN p.processed_at - interval '1 hour' ELSE p.received_at - interval '1 day' END
    AND l.linked_at <= CASE p.generation WHEN 1 THEN p.processed_at + interval '1 hour' ELSE now() + interval '1 day' END
