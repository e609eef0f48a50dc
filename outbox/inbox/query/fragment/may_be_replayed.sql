-- Whether a replay looks at the event p. What a replay guard held is among them
-- only when it is asked for, and nothing whose content was erased or redacted.
(p.outcome = :outcome OR :outcome = '' AND p.outcome IN ('dispatched', 'skipped', 'failed'))
    AND {{has_its_routes}}
    AND p.erased_at IS NULL
    AND p.redacted_at IS NULL
    AND (:source = '' OR p.source = :source)
    AND (:type_like = '' OR p.event_type LIKE :type_like)
    AND (:since::timestamptz IS NULL OR p.received_at >= :since)
    AND (:until::timestamptz IS NULL OR p.received_at < :until)
