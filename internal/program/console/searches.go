package console

import (
	"context"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
)

const (
	// waitingSearches is the maximum number of a user's searches that wait for the running search.
	waitingSearches = 3
	// searchWait is the maximum wait of a search. It leaves most of pageTimeout to the search
	// itself.
	searchWait = 3 * time.Second
)

// searches lets each user run one payload search at a time. A search compiles a condition and
// evaluates it on the CPUs that also accept deliveries.
type searches struct {
	mu sync.Mutex
	of map[searcher]*turn
}

// searcher identifies a user.
type searcher struct {
	way  signin.Way
	name string
}

// turn is the queue of one user.
type turn struct {
	running chan struct{} // has a value while a search is running
	here    int           // searches that are running or waiting
}

// begin waits until no other search of the user is running, and returns a function that ends this
// search. It returns false if too many searches wait, or if the wait takes too long.
func (s *searches) begin(ctx context.Context, p signin.Person) (end func(), ok bool) {
	who := searcher{p.Way, p.Name}
	mine, ok := s.enter(who)
	if !ok {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, searchWait)
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

func (s *searches) enter(who searcher) (*turn, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := s.of[who]
	if mine == nil {
		mine = &turn{running: make(chan struct{}, 1)}
		s.of[who] = mine
	}
	if mine.here > waitingSearches {
		return nil, false
	}
	mine.here++
	return mine, true
}

func (s *searches) leave(who searcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[who].here--; s.of[who].here == 0 {
		delete(s.of, who)
	}
}
