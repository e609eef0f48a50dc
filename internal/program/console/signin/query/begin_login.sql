-- Somebody signed in.
INSERT INTO hooklatch.console_logins (hash, name, role, way, token, basis)
VALUES (:hash, :name, :role, :way, :token, :basis)
