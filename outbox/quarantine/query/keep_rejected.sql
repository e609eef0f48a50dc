INSERT INTO hooklatch.rejected_deliveries (
    rejection_id, source, rejected_at, reason, detail, address, known, method, host, secure, target, headers, secrets, body, bytes
)
SELECT
    r.rejection_id, r.source, clock_timestamp() - make_interval(secs => r.seconds_ago), r.reason, r.detail, NULLIF(r.address, '')::cidr, r.known,
    r.method, r.host, r.secure, r.target, r.headers, r.secrets, r.body, r.bytes
FROM :rejected AS r (
    rejection_id uuid, source text, seconds_ago float8, reason text, detail text, address text, known boolean,
    method text, host text, secure boolean, target text, headers jsonb, secrets jsonb, body bytea, bytes integer
)
ON CONFLICT (rejection_id) DO NOTHING
