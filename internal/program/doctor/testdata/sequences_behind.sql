INSERT INTO hooklatch.river_job (id, kind, queue, args, max_attempts, state, finalized_at)
VALUES (nextval('hooklatch.river_job_id_seq') + 1000, 'effect', 'dst_app', '{}', 1, 'completed', now());
