-- Whether the event s is asked for. An empty filter takes all.
(:source = '' OR s.source = :source)
        AND (:event_type = '' OR s.event_type = :event_type)
        AND (:outcome = '' OR s.outcome = :outcome)
        AND (:since::timestamptz IS NULL OR s.received_at >= :since)
        AND (:until::timestamptz IS NULL OR s.received_at < :until)
