DROP TRIGGER effects_record ON hooklatch.effects;
DROP TRIGGER effects_legal ON hooklatch.effects;
DROP TRIGGER effects_begin ON hooklatch.effects;
DROP FUNCTION hooklatch.record_effect_transitions();
DROP FUNCTION hooklatch.refuse_effect_transition();
DROP TABLE hooklatch.effect_transitions;
