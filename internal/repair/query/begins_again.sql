-- Reports whether one of the two sequences that every delivery uses is behind the highest number in
-- a stored row. The statement reads two rows by their indexes.
SELECT
    (SELECT max(p.accept_seq) FROM hooklatch.processed_events AS p) > COALESCE(pg_sequence_last_value('hooklatch.accept_seq'), 0) IS TRUE
    OR (SELECT max(j.id) FROM hooklatch.river_job AS j) > COALESCE(pg_sequence_last_value('hooklatch.river_job_id_seq'), 0) IS TRUE
