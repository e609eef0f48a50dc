-- Attempts to two destinations were abandoned recently. An attempt to a third destination was
-- abandoned an hour ago.
INSERT INTO hooklatch.minutes (minute, kind, name, what, n) VALUES
    (date_trunc('minute', now()) - interval '2 minutes', 'destination', 'app', 'abandoned', 1),
    (date_trunc('minute', now()) - interval '2 minutes', 'destination', 'crm', 'abandoned', 2),
    (date_trunc('minute', now()) - interval '3 minutes', 'destination', 'crm', 'abandoned', 5),
    (date_trunc('minute', now()) - interval '3 minutes', 'destination', 'crm', 'attempts', 50),
    (date_trunc('minute', now()) - interval '1 hour', 'destination', 'mail', 'abandoned', 1);
