-- The columns of a delivery r in a list.
r.rejection_id, r.source, r.rejected_at, r.reason, r.detail, COALESCE(r.address::text, ''), r.known,
    r.method, r.host, r.secure, r.target, r.bytes
