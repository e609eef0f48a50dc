-- True if this server, on this timeline, is the known server, whose database has all completed
-- work. On another server, an at_most_once effect may have been applied although its row does not
-- say so.
COALESCE((
    SELECT (i.system_id, i.timeline) IS NOT DISTINCT FROM (s.system_id, s.timeline)
    FROM hooklatch.installation AS i
    CROSS JOIN hooklatch.this_server() AS s
), false)
