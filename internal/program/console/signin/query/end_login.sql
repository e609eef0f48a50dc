-- Somebody signed out.
DELETE FROM hooklatch.console_logins WHERE hash = :hash
