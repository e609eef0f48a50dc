DROP TABLE hooklatch.effect_attempts;
DROP TABLE hooklatch.effect_events;
DROP TABLE hooklatch.effects;
DROP TABLE hooklatch.destinations;
