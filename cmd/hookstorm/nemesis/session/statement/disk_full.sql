CREATE OR REPLACE FUNCTION hooklatch.hookstorm_disk_full() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = '53100',
        MESSAGE = 'could not extend file: No space left on device',
        HINT = 'Check free disk space. (Simulated by hookstorm.)';
END
$$
