-- Events with their effects and replays, in the form that the export stores. Each row is a JSON
-- object of its columns.
SELECT
    p.accept_seq,
    to_jsonb(p) AS event,
    COALESCE((
        SELECT jsonb_agg(
            jsonb_build_object(
                'suppressed', l.suppressed,
                'effect', e.columns,
                'attempts', (
                    SELECT COALESCE(jsonb_agg(to_jsonb(a) - '{scope,key,generation,claim_id}'::text[] ORDER BY a.attempt), '[]')
                    FROM hooklatch.all_attempts AS a
                    WHERE a.scope = l.scope
                        AND a.key = l.key
                        AND a.generation = l.generation
                ),
                'transitions', (
                    SELECT COALESCE(jsonb_agg(jsonb_build_object(
                        'from', t.from_state, 'to', t.to_state, 'attempt', t.attempt, 'at', t.at, 'reason', t.reason, 'job_id', t.job_id
                    ) ORDER BY t.id), '[]')
                    FROM hooklatch.effect_transitions AS t
                    WHERE t.scope = l.scope
                        AND t.key = l.key
                        AND t.generation = l.generation
                )
            )
            ORDER BY l.linked_at, l.scope, l.key, l.generation
        )
        FROM hooklatch.all_links AS l
        CROSS JOIN LATERAL (
            SELECT to_jsonb(e) AS columns
            FROM hooklatch.effects AS e
            WHERE e.scope = l.scope
                AND e.key = l.key
                AND e.generation = l.generation
            OFFSET 0 -- forces one look-up for each row
        ) AS e
        WHERE l.source = p.source
            AND l.event_id = p.event_id
    ), '[]') AS effects,
    COALESCE((
        SELECT jsonb_agg(jsonb_build_object(
            'generation', r.generation, 'new_keys', r.new_keys, 'route', r.route, 'run', COALESCE(r.run_id, 0), 'by', r.requested_by,
            'reason', r.reason, 'at', r.requested_at, 'previous_state', COALESCE(r.previous_outcome, ''),
            'previous_error', COALESCE(r.previous_error, ''), 'previous_at', r.previous_at
        ) ORDER BY r.generation)
        FROM hooklatch.event_replays AS r
        WHERE r.source = p.source
            AND r.event_id = p.event_id
    ), '[]') AS replays
FROM unnest(:events::bigint[]) AS a (accept_seq)
CROSS JOIN LATERAL (
    SELECT *
    FROM hooklatch.processed_events AS e
    WHERE e.accept_seq = a.accept_seq
    OFFSET 0 -- forces one look-up for each row
) AS p
