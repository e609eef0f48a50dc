package pgtest

import (
	"time"

	"github.com/hooklatch/hooklatch/schema/embedded"
	"github.com/hooklatch/hooklatch/schema/internal/family"
)

// Kill ends all processes of a server of Own with SIGKILL, as an out-of-memory
// killer or a crash would. Restart brings it back; Stop must still be called.
func Kill(server *embedded.Server) {
	family.Kill(server.PID())
	for server.PID() != 0 {
		time.Sleep(time.Millisecond)
	}
}

// Pause freezes all processes of a server of Own: connections stay open and none
// answers.
func Pause(server *embedded.Server) error { return family.Pause(server.PID()) }

// Resume ends a Pause.
func Resume(server *embedded.Server) error { return family.Resume(server.PID()) }
