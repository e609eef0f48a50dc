-- Whether the effect e is still what the operator saw: in one of :states, and not
-- since after :finished_until.
e.state = ANY (:states::text[])
    AND (:finished_until::timestamptz IS NULL OR COALESCE(e.finished_at, '-infinity') <= :finished_until)
