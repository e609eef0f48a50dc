-- Signs a user out in all browsers.
DELETE FROM hooklatch.console_logins
WHERE name = :name
    AND way = :way
    AND token = :token
