SELECT leader_id FROM hooklatch.river_leader WHERE expires_at > now()
