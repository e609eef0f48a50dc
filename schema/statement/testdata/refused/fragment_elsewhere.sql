SELECT {{../a}}
