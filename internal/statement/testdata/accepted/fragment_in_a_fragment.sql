SELECT {{is_late}}
