-- Creates a role that owns nothing and has the rights to run retention.
DO $$
BEGIN
    CREATE ROLE hookstorm_keeper;
EXCEPTION WHEN duplicate_object THEN
    NULL; -- another run on this server created the role
END
$$;
GRANT USAGE ON SCHEMA hooklatch TO hookstorm_keeper;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA hooklatch TO hookstorm_keeper;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA hooklatch TO hookstorm_keeper;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA hooklatch TO hookstorm_keeper;
