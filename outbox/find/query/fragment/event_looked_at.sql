-- The columns of the event p that a walk reads.
p.accept_seq, p.source, p.event_id, p.event_type, p.outcome, p.received_at, p.delivery_id,
        p.duplicates, p.body_differs, p.retry_number, p.replay_suspect, p.erased_at, p.redacted_at,
        p.processed_at, p.generation
