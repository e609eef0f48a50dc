-- Signs a user out in one browser.
DELETE FROM hooklatch.console_logins WHERE hash = :hash
