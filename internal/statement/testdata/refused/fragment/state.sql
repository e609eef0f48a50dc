e.state
