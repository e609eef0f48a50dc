-- True if the event s matches. Empty arguments match all.
(:source = '' OR s.source = :source)
        AND (:type_like = '' OR s.event_type LIKE :type_like)
        AND (:event_id = '' OR s.event_id = :event_id)
        AND (:states::text[] IS NULL OR s.outcome = ANY (:states::text[]))
        AND CASE WHEN :effects_in::text[] IS NULL THEN true ELSE (
            SELECT COALESCE(bool_or(e.state = ANY (:effects_in::text[])), 'none' = ANY (:effects_in::text[]))
            FROM ({{links_of_event p=s}} OFFSET 0) AS l
            CROSS JOIN LATERAL (
                SELECT e.state
                FROM hooklatch.effects AS e
                WHERE e.scope = l.scope
                    AND e.key = l.key
                    AND e.generation = l.generation
                LIMIT 1
            ) AS e
        ) END
        AND (NOT :duplicated OR s.duplicates > 0)
        AND (NOT :differs OR s.body_differs)
        AND (NOT :retried OR s.retry_number > 0)
        AND (NOT :suspect OR s.replay_suspect)
        AND (:since::timestamptz IS NULL OR s.received_at >= :since)
        AND (:until::timestamptz IS NULL OR s.received_at < :until)
