-- True if the effect s matches. Empty arguments match all.
(:states::text[] IS NULL OR s.state = ANY (:states::text[]))
        AND (:destination = '' OR s.destination = :destination)
        AND (:route = '' OR s.route = :route)
        AND (:source = '' OR s.source = :source)
        AND (:type_like = '' OR s.event_type LIKE :type_like)
        AND (:policy = '' OR s.policy = :policy)
