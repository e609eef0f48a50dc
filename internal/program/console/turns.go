package console

import (
	"context"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
)

const (
	// waitingTurns is the maximum number of a user's requests that wait for the running one.
	waitingTurns = 3
	// turnWait is the maximum wait of a request. It leaves most of pageTimeout to the request
	// itself.
	turnWait = 3 * time.Second
)

// turns lets each user run one request of a kind at a time. A payload search compiles a condition
// and evaluates it on the CPUs that also accept deliveries. A download keeps a body in memory until
// the client has read it.
type turns struct {
	mu sync.Mutex
	of map[turnOwner]*turn
}

// turnOwner identifies a user.
type turnOwner struct {
	way  signin.Way
	name string
}

// turn is the queue of one user.
type turn struct {
	running chan struct{} // has a value while a request is running
	here    int           // requests that are running or waiting
}

func newTurns() turns { return turns{of: map[turnOwner]*turn{}} }

// begin waits until no other request of the user is running, and returns a function that ends this
// request. It returns false if too many requests wait, or if the wait takes too long.
func (s *turns) begin(ctx context.Context, p signin.Person) (end func(), ok bool) {
	who := turnOwner{p.Way, p.Name}
	mine, ok := s.enter(who)
	if !ok {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, turnWait)
	defer cancel()
	select {
	case mine.running <- struct{}{}:
		return func() {
			<-mine.running
			s.leave(who)
		}, true
	case <-ctx.Done():
		s.leave(who)
		return nil, false
	}
}

func (s *turns) enter(who turnOwner) (*turn, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := s.of[who]
	if mine == nil {
		mine = &turn{running: make(chan struct{}, 1)}
		s.of[who] = mine
	}
	if mine.here > waitingTurns {
		return nil, false
	}
	mine.here++
	return mine, true
}

func (s *turns) leave(who turnOwner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[who].here--; s.of[who].here == 0 {
		delete(s.of, who)
	}
}
