-- Events that need attention. Retention checks here whether it may delete their payloads.
CREATE INDEX CONCURRENTLY processed_events_put_aside ON hooklatch.processed_events (accept_seq) INCLUDE (received_at)
    WHERE outcome IN ('failed', 'held');
