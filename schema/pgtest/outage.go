package pgtest

import "github.com/hooklatch/hooklatch/schema/embedded"

// Kill sends SIGKILL to all processes of a server started with Own, as an out-of-memory killer
// would. The server's method Restart starts it again.
func Kill(server *embedded.Server) { server.Kill() }

// Pause freezes all processes of a server started with Own: connections stay open, but receive no
// responses.
func Pause(server *embedded.Server) error { return server.Pause() }

// Resume reverses Pause.
func Resume(server *embedded.Server) error { return server.Resume() }
