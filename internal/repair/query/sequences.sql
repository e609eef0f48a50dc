-- Returns the sequences that are behind their rows, each with its own last number and the highest
-- number in a stored row. Logical replication copies rows, but not the positions of sequences. The
-- statement reads all effects and transitions.
SELECT s.name, COALESCE(pg_sequence_last_value(s.name::regclass), 0), s.highest
FROM (
    SELECT
        'hooklatch.accept_seq' AS name,
        GREATEST(
            (SELECT max(p.accept_seq) FROM hooklatch.processed_events AS p),
            (SELECT max(e.accept_seq) FROM hooklatch.effects AS e),
            (SELECT max(r.accept_seq) FROM hooklatch.retention_progress AS r)
        ) AS highest
    UNION ALL
    SELECT 'hooklatch.backfill_runs_run_id_seq', (SELECT max(b.run_id) FROM hooklatch.backfill_runs AS b)
    UNION ALL
    SELECT 'hooklatch.configurations_number_seq', (SELECT max(c.number) FROM hooklatch.configurations AS c)
    UNION ALL
    SELECT 'hooklatch.effect_id', (SELECT max(e.effect_id) FROM hooklatch.effects AS e)
    UNION ALL
    SELECT 'hooklatch.effect_transitions_id_seq', (SELECT max(t.id) FROM hooklatch.former_transitions AS t)
    UNION ALL
    SELECT 'hooklatch.operator_log_id_seq', (SELECT max(l.id) FROM hooklatch.operator_log AS l)
    UNION ALL
    SELECT 'hooklatch.replay_runs_id_seq', (SELECT max(r.id) FROM hooklatch.replay_runs AS r)
    UNION ALL
    SELECT 'hooklatch.river_job_id_seq', (SELECT max(j.id) FROM hooklatch.river_job AS j)
    UNION ALL
    SELECT 'hooklatch.transition_id', (SELECT max(t.id) FROM hooklatch.transitions AS t)
) AS s
WHERE s.highest > COALESCE(pg_sequence_last_value(s.name::regclass), 0)
ORDER BY s.name
