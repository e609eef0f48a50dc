SELECT :eventID
