INSERT INTO hooklatch.river_leader (elected_at, expires_at, leader_id) VALUES (now(), now() + interval '1 hour', 'me');
INSERT INTO hooklatch.river_queue (name, updated_at, paused_at) VALUES
    ('dispatch', now(), now() - interval '5 minutes'), ('dst_app', now(), now() - interval '3 minutes'), ('dst_crm', now(), now()), ('dst_mail', now(), NULL);
INSERT INTO hooklatch.destinations (name, kind, queue, config_hash) VALUES ('app', 'http', 'dst_app', ''), ('mail', 'email', 'dst_mail', '');
INSERT INTO hooklatch.destinations (name, kind, queue, config_hash, operator_paused, paused_by, paused_at) VALUES ('crm', 'http', 'dst_crm', '', true, 'ann', now() - interval '10 minutes');
