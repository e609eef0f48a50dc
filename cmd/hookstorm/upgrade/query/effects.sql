SELECT count(*), count(*) FILTER (WHERE state = 'done') FROM hooklatch.effects
