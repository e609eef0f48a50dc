-- Overrides session settings of the role or the database that Hooklatch's transactions do not set
-- themselves. An idle_session_timeout would repeatedly close the listening connection. The queue's
-- own statements would fail with 40001 at isolation levels above read committed, and with 25006 if
-- transactions are read-only by default. Settings that this server does not have are left out.
SELECT set_config(s.name, wanted.value, false)
FROM (VALUES
    ('idle_session_timeout', '0'),
    ('transaction_timeout', '0'),
    ('default_transaction_isolation', 'read committed'),
    ('default_transaction_deferrable', 'off'),
    ('default_transaction_read_only', 'off')
) AS wanted (name, value)
JOIN pg_settings AS s ON s.name = wanted.name
WHERE s.setting <> wanted.value;
