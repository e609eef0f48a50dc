SELECT m.name
FROM hooklatch.alert_mutes AS m
WHERE m.until > now()
