-- Creates triggers that resemble the triggers of effects: one refuses rows that meet its condition,
-- and the other records the rows that a statement changed.
CREATE TABLE hooklatch.t_effects (key text PRIMARY KEY, state text NOT NULL);
CREATE TABLE hooklatch.t_transitions (key text, from_state text, to_state text);

CREATE FUNCTION hooklatch.t_refuse() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'no transition from % to %', OLD.state, NEW.state
        USING ERRCODE = 'check_violation';
END
$$;

CREATE TRIGGER t_legal
BEFORE UPDATE ON hooklatch.t_effects
FOR EACH ROW
WHEN (OLD.state = 'done' AND NEW.state <> 'done')
EXECUTE FUNCTION hooklatch.t_refuse();

CREATE FUNCTION hooklatch.t_record() RETURNS trigger
LANGUAGE plpgsql
SET enable_nestloop = off
AS $$
BEGIN
    INSERT INTO hooklatch.t_transitions
    SELECT o.key, o.state, n.state
    FROM before AS o
    JOIN after AS n USING (key);
    RETURN NULL;
END
$$;

CREATE TRIGGER t_recorded
AFTER UPDATE ON hooklatch.t_effects
REFERENCING OLD TABLE AS before NEW TABLE AS after
FOR EACH STATEMENT
EXECUTE FUNCTION hooklatch.t_record();

INSERT INTO hooklatch.t_effects VALUES ('a', 'pending'), ('b', 'pending');
