-- Returns the known server, the server that runs this statement, and whether at_most_once effects
-- are withheld.
SELECT
    COALESCE(i.system_id, 0), COALESCE(i.timeline, 0), COALESCE(s.system_id, 0), COALESCE(s.timeline, 0),
    NOT {{at_home}} AS withheld, COALESCE(i.epoch, 0), i.changed_at, i.restored_to, i.restored_at,
    (SELECT count(*) FROM hooklatch.processes AS p WHERE p.seen_at > now() - interval '1 minute') AS processes
FROM hooklatch.this_server() AS s
LEFT JOIN hooklatch.installation AS i ON i.one
