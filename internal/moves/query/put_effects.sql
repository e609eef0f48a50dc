-- Registers effects of the other cell, so that a later event with the same key creates none.
-- Returns the effects that are new here. In the same transaction, cancel_effects.sql cancels them.
INSERT INTO hooklatch.effects (
    scope, key, generation, idempotency_key, route, destination, queue, policy, source, event_id, event_type, created_at
)
SELECT m.scope, m.key, m.generation, m.idempotency_key, m.route, m.destination, m.queue, m.policy, :source, m.event_id, m.event_type, m.created_at
FROM jsonb_to_recordset(:contents::jsonb) AS m (
    scope text, key text, generation integer, idempotency_key text, route text, destination text, queue text, policy text, event_id text, event_type text,
    created_at timestamptz
)
ORDER BY m.scope COLLATE "C", m.key COLLATE "C", m.generation
ON CONFLICT DO NOTHING
RETURNING jsonb_build_object('scope', scope, 'key', key, 'generation', generation)::text
