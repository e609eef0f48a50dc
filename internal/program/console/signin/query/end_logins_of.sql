-- Signs the named user out everywhere, for every way of authentication.
DELETE FROM hooklatch.console_logins
WHERE name = :name
