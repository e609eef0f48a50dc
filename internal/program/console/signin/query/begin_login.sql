-- Stores a new login.
INSERT INTO hooklatch.console_logins (hash, name, role, way, token, basis)
VALUES (:hash, :name, :role, :way, :token, :basis)
