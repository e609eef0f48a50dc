-- True if the effect e is unchanged since the operator saw it: in one of :states, and finished no
-- later than :finished_until.
e.state = ANY (:states::text[])
    AND (:finished_until::timestamptz IS NULL OR COALESCE(e.finished_at, '-infinity') <= :finished_until)
