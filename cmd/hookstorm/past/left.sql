-- Lists up to 20 of the remaining rows and tables of the past.
SELECT 'event ' || event_id FROM hooklatch.processed_events WHERE source = 'past'
UNION ALL
SELECT 'effect ' || key FROM hooklatch.effects WHERE scope = 'past/all'
UNION ALL
SELECT 'delivery ' || delivery_id FROM hooklatch.deliveries_kept WHERE source = 'past'
UNION ALL
SELECT 'kept event ' || accept_seq FROM hooklatch.events_kept WHERE accept_seq <= 1000000
UNION ALL
SELECT 'replay guard ' || encode(hash, 'hex') FROM hooklatch.replay_guards WHERE source = 'past'
UNION ALL
SELECT 'content guard ' || encode(hash, 'hex') FROM hooklatch.content_guards WHERE source = 'past'
UNION ALL
SELECT 'replay of ' || event_id FROM hooklatch.event_replays WHERE source = 'past'
UNION ALL
SELECT 'version of ' || latest_key FROM hooklatch.object_versions WHERE scope = 'past/all'
UNION ALL
SELECT 'order ' || target FROM hooklatch.operator_log WHERE who = 'past'
UNION ALL
SELECT 'table ' || past_table FROM torture.past_tables
LIMIT 20
