package pgtest

import "github.com/hooklatch/hooklatch/schema/embedded"

// Kill ends all processes of a server started with Own with SIGKILL, as an out-of-memory killer or
// a crash would. Restart starts the server again; Stop must still be called.
func Kill(server *embedded.Server) { server.Kill() }

// Pause freezes all processes of a server started with Own: connections stay open and none
// responds.
func Pause(server *embedded.Server) error { return server.Pause() }

// Resume reverses Pause.
func Resume(server *embedded.Server) error { return server.Resume() }
