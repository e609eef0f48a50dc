-- Signs a user out in all browsers in which the user signed in the same way, with the same token.
DELETE FROM hooklatch.console_logins
WHERE name = :name
    AND way = :way
    AND token = :token
