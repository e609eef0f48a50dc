-- Lists every hour between :made_since and :made_until, latest first. The defaults are the hours of
-- the oldest and the newest effect. After a clock is set back, the latest hour may be in the future.
generate_series(
    date_bin('1 hour', COALESCE(:made_until::timestamptz, (SELECT max(created_at) FROM hooklatch.effects), now()), TIMESTAMPTZ '2000-01-01 00:00:00+00'),
    date_bin(
        '1 hour',
        COALESCE(:made_since::timestamptz, (SELECT min(created_at) FROM hooklatch.effects), now()),
        TIMESTAMPTZ '2000-01-01 00:00:00+00'
    ),
    interval '-1 hour'
)
