-- True if a delivery r is selected and not expired.
r.rejected_at > now() - interval '7 days'
    AND (:id::uuid IS NULL OR r.rejection_id = :id)
    AND (:source::text = '' OR r.source = :source)
    AND (:reason::text = '' OR r.reason = :reason)
    AND (:until::timestamptz IS NULL OR r.rejected_at < :until)
