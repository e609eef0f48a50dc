-- Somebody else signs a person out everywhere, whichever way the person came.
DELETE FROM hooklatch.console_logins
WHERE name = :name
