SELECT make_interval(secs := :seconds), names[1:2], names[1 : n], names[:first]
