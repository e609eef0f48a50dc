-- Signs another person out everywhere, whatever way the person signed in.
DELETE FROM hooklatch.console_logins
WHERE name = :name
