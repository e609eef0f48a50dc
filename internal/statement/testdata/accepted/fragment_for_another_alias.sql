SELECT {{is_due e=other}}, 'e.state' FROM hooklatch.effects AS other
