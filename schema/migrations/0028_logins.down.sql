-- Locks: ACCESS EXCLUSIVE on the table that goes. All who are signed in have to do it again.
DROP TABLE hooklatch.console_logins;
