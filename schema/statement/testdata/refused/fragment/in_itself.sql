{{itself}}
