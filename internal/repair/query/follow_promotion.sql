-- Records that a standby that lacks nothing replaced the known server.
UPDATE hooklatch.installation AS i
SET
    timeline = s.timeline,
    epoch = i.epoch + 1,
    changed_at = clock_timestamp()
FROM hooklatch.this_server() AS s
WHERE i.system_id = s.system_id
    AND i.timeline < s.timeline
