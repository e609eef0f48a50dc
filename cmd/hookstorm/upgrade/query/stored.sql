SELECT event_id FROM hooklatch.processed_events
