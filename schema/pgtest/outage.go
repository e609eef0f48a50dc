package pgtest

import "github.com/hooklatch/hooklatch/schema/embedded"

// Kill ends all processes of a server of Own with SIGKILL, as an out-of-memory
// killer or a crash would. Restart brings it back; Stop must still be called.
func Kill(server *embedded.Server) { server.Kill() }

// Pause freezes all processes of a server of Own: connections stay open and none
// answers.
func Pause(server *embedded.Server) error { return server.Pause() }

// Resume ends a Pause.
func Resume(server *embedded.Server) error { return server.Resume() }
