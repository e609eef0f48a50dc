package pgproxy

import (
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/internal/pgwire"
)

// firedSize is the maximum number of firings that wait in the channel of Fired.
const firedSize = 1024

// Armed is an active fault. The proxy's mutex guards its state.
type Armed struct {
	proxy *Proxy
	fault Fault
	fired chan Firing
	done  chan struct{} // closed when the fault can no longer fire

	left   int // remaining firings; -1 for no limit
	flying int // shots for which land has not been called yet
	count  int
	felt   map[*conn]struct{} // connections for which the fault has fired, if it lasts
	timer  *time.Timer
	over   bool
}

// Arm activates a fault in addition to any others. If several match one statement, the one armed
// first takes the statement.
func (p *Proxy) Arm(fault Fault) (*Armed, error) {
	if err := fault.validate(); err != nil {
		return nil, err
	}
	a := &Armed{
		proxy: p, fault: fault, left: -1,
		fired: make(chan Firing, firedSize), done: make(chan struct{}), felt: map[*conn]struct{}{},
	}
	if fault.Count > 0 {
		a.left = fault.Count
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = append(p.armed, a)
	if fault.For > 0 {
		a.timer = time.AfterFunc(fault.For, a.Disarm)
	}
	p.wake()
	return a, nil
}

// DisarmAll ends every fault.
func (p *Proxy) DisarmAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.armed) > 0 {
		p.armed[0].end()
	}
}

// Disarm ends the fault. Further calls do nothing.
func (a *Armed) Disarm() {
	a.proxy.mu.Lock()
	defer a.proxy.mu.Unlock()
	a.end()
}

// Count returns how often the fault fired.
func (a *Armed) Count() int {
	a.proxy.mu.Lock()
	defer a.proxy.mu.Unlock()
	return a.count
}

// Fired returns a channel that receives each firing. Up to 1024 firings wait for a reader.
// Further ones are only counted.
func (a *Armed) Fired() <-chan Firing { return a.fired }

// Done returns a channel that is closed when the fault cannot fire again. The fault was then
// disarmed, its time has passed, or it fired the maximum number of times.
func (a *Armed) Done() <-chan struct{} { return a.done }

// end removes the fault. The caller holds the proxy's mutex.
func (a *Armed) end() {
	if a.over {
		return
	}
	a.over = true
	if a.timer != nil {
		a.timer.Stop()
	}
	a.proxy.armed = slices.DeleteFunc(a.proxy.armed, func(other *Armed) bool { return other == a })
	close(a.done)
	a.proxy.wake()
}

// endIfSpent ends a fault that fired the maximum number of times and has no shot left to land. The
// caller holds the proxy's mutex.
func (a *Armed) endIfSpent() {
	if a.left == 0 && a.flying == 0 {
		a.end()
	}
}

// shot is a fault that has taken a statement.
type shot struct {
	armed *Armed
	sql   string
	told  bool
}

// aim returns a shot if an armed fault takes one of the connection's statements, and nil otherwise.
// The caller must call land on the shot.
func (p *Proxy) aim(c *conn, statements []string) *shot {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.armed {
		if !a.fault.Kind.atStatement() || a.left == 0 || !a.fault.Who.has(c) {
			continue
		}
		for _, sql := range statements {
			if a.matches(sql) {
				if a.left > 0 {
					a.left--
				}
				a.flying++
				return &shot{armed: a, sql: sql}
			}
		}
	}
	return nil
}

func (a *Armed) matches(sql string) bool {
	if a.fault.Match == nil {
		return pgwire.IsCommit(sql)
	}
	return a.fault.Match.MatchString(sql)
}

func (s *shot) kind() Kind { return s.armed.fault.Kind }

// tell reports the fault as it happens.
func (s *shot) tell(c *conn, answer string) {
	s.armed.proxy.mu.Lock()
	s.told = true
	s.armed.report(c, s.sql, answer)
}

// land ends the shot. If the shot was not reported, the connection was closed before the server
// responded, and the fault can fire again.
func (s *shot) land() {
	a := s.armed
	a.proxy.mu.Lock()
	defer a.proxy.mu.Unlock()
	a.flying--
	if !s.told && a.left >= 0 {
		a.left++
	}
	a.endIfSpent()
}

// feel reports, once for each connection, that a lasting fault affects it.
func (a *Armed) feel(c *conn) {
	a.proxy.mu.Lock()
	if _, told := a.felt[c]; told {
		a.proxy.mu.Unlock()
		return
	}
	a.felt[c] = struct{}{}
	a.report(c, "", "")
}

// turnsAway returns the kind of the fault that rejects a new connection, Refuse or Cap, or "" if
// none does.
func (p *Proxy) turnsAway(c *conn) Kind {
	p.mu.Lock()
	armed := p.find(c, Refuse, Cap)
	if armed == nil || armed.fault.Kind == Cap && p.accepted(armed.fault.Who) < armed.fault.Connections {
		p.mu.Unlock()
		return ""
	}
	if armed.left > 0 {
		armed.left--
	}
	armed.report(c, "", "")
	return armed.fault.Kind
}

// report counts and reports a firing. The caller holds the proxy's mutex, which report releases.
func (a *Armed) report(c *conn, sql, answer string) {
	firing := Firing{
		At: time.Now(), Kind: a.fault.Kind, SQL: sql, Answer: answer,
		Listener: c.listener, Application: c.application, BackendPID: c.backend.Load(),
	}
	a.count++
	select {
	case a.fired <- firing:
	default:
	}
	a.endIfSpent()
	a.proxy.mu.Unlock()
	if a.fault.OnFiring != nil {
		a.fault.OnFiring(firing)
	}
}
