-- Deliveries from known addresses were refused. Since then, stripe has accepted no delivery, and
-- github has accepted one. Deliveries from unknown addresses are rightly refused.
INSERT INTO hooklatch.river_leader (elected_at, expires_at, leader_id)
VALUES (now(), now() + interval '1 hour', 'a');
INSERT INTO hooklatch.rejected_deliveries (rejection_id, source, rejected_at, reason, address, known, method, host, secure, target, headers, body, bytes)
SELECT gen_random_uuid(), r.source, now() - r.ago, r.reason, '203.0.113.9', r.known, 'POST', 'localhost', true, '/webhooks/' || r.source, '{}', '', 100
FROM (
    VALUES
        ('stripe', interval '2 hours', 'no_signature', true),
        ('stripe', interval '5 minutes', 'wrong_signature', true),
        ('stripe', interval '1 minute', 'no_signature', false),
        ('github', interval '3 hours', 'wrong_signature', true),
        ('slack', interval '3 hours', 'wrong_signature', false)
) AS r (source, ago, reason, known);
INSERT INTO hooklatch.last_seen (kind, name, what, seen_at)
VALUES
    ('source', 'stripe', 'accepted', now() - interval '1 day'),
    ('source', 'github', 'accepted', now() - interval '1 minute');
