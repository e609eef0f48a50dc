package worker

import (
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

const (
	// slowPlan is the time above which a plan is slow. A plan takes a fraction of a millisecond, unless
	// the routes have expensive expressions.
	slowPlan = 25 * time.Millisecond
	// slowPlansInARow is the number of successive slow plans after which a source's events get jobs.
	// One slow plan may be due to a busy machine.
	slowPlansInARow = 3
	// slowPlansPause is the time after which a source's events are planned again.
	slowPlansPause = time.Minute
)

// slowPlans finds the sources whose events take long to plan. The deliveries of all sources wait for
// the plans in T1, so such a source would delay all others.
type slowPlans struct {
	mu      sync.Mutex
	sources map[identity.Source]*slowSource // only sources whose latest plan was slow
}

// slowSource is what is known about a source whose latest plan was slow.
type slowSource struct {
	inARow int
	until  time.Time // end of the last pause; zero before the first pause
}

// planNow reports whether events of the source are planned while they are accepted.
func (s *slowPlans) planNow(source identity.Source) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	slow := s.sources[source]
	return slow == nil || !time.Now().Before(slow.until)
}

// note records the duration of a plan. After a pause, one more slow plan begins the next pause.
func (s *slowPlans) note(source identity.Source, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if took <= slowPlan {
		delete(s.sources, source)
		return
	}
	if s.sources == nil {
		s.sources = make(map[identity.Source]*slowSource)
	}
	slow := s.sources[source]
	if slow == nil {
		slow = &slowSource{}
		s.sources[source] = slow
	}
	if slow.inARow++; slow.inARow >= slowPlansInARow {
		slow.until = time.Now().Add(slowPlansPause)
	}
}
