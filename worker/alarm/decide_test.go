package alarm

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// story follows one alert over time.
type story struct {
	states  []*state
	muted   map[string]bool
	for_    time.Duration
	targets []string // destinations; nil: a and b
}

// at decides at a time after noon, and returns the messages with their targets. The argument so is
// true if the condition holds at that time.
func (s *story) at(after time.Duration, so bool) (told []string) {
	targets, all := s.targets, []int(nil)
	if targets == nil {
		targets = []string{"a", "b"}
	}
	for i := range targets {
		all = append(all, i)
	}
	d := decision{now: noon.Add(after), to: func(Alert) []int { return all }, destinations: targets, lasts: DefaultFor, repeat: DefaultRepeat, muted: s.muted}
	var found []Alert
	if so {
		found = []Alert{{Name: "breaker_open", Subject: "crm", For: s.for_}}
	}
	s.states, _ = d.decide(s.states, found)
	for _, m := range d.messages {
		told = append(told, string(m.What)+" to "+string(rune('0'+m.target)))
		m.state.Came, m.state.EffectKey = false, m.key(targets[m.target])
	}
	return told
}

// came marks the last notification as delivered.
func (s *story) came() {
	for _, one := range s.states {
		one.Came = true
	}
}

func TestWhatLastsIsTold(t *testing.T) {
	t.Parallel()
	s := &story{}
	require.Empty(t, s.at(0, true))
	require.Empty(t, s.at(119*time.Second, true))
	require.Equal(t, []string{"began to 0"}, s.at(2*time.Minute, true))
	s.came()
	require.Empty(t, s.at(3*time.Minute, true))
	require.Empty(t, s.at(4*time.Hour+time.Minute, true))
	require.Equal(t, []string{"lasts to 0"}, s.at(4*time.Hour+2*time.Minute, true))
	s.came()
	require.Empty(t, s.at(5*time.Hour, true))
	require.Empty(t, s.at(5*time.Hour+59*time.Second, false), "the alert may fire again")
	require.Equal(t, []string{"ended to 0"}, s.at(5*time.Hour+time.Minute, false))
	require.Empty(t, s.states)
	require.Empty(t, s.at(6*time.Hour, false))
}

func TestWhatPassesByIsNotTold(t *testing.T) {
	t.Parallel()
	s := &story{}
	require.Empty(t, s.at(0, true))
	require.Empty(t, s.at(time.Minute, true))
	require.Empty(t, s.at(2*time.Minute, false))
	require.Empty(t, s.states)
	require.Empty(t, s.at(3*time.Minute, true), "the wait begins again")
	require.Empty(t, s.at(4*time.Minute, true))
}

func TestAFlickerIsOneThing(t *testing.T) {
	t.Parallel()
	s := &story{}
	s.at(0, true)
	require.Equal(t, []string{"began to 0"}, s.at(2*time.Minute, true))
	s.came()
	require.Empty(t, s.at(150*time.Second, false))
	require.Empty(t, s.at(3*time.Minute, true))
	require.Empty(t, s.at(210*time.Second, false))
	require.Len(t, s.states, 1)
}

// If the first target cannot be reached, the second target is notified once. The resolution is sent
// to the target that was notified.
func TestTheNextOneIsTold(t *testing.T) {
	t.Parallel()
	s := &story{}
	s.at(0, true)
	require.Equal(t, []string{"began to 0"}, s.at(2*time.Minute, true))
	require.Empty(t, s.at(179*time.Second, true))
	require.Equal(t, []string{"began to 1"}, s.at(3*time.Minute, true))
	require.Empty(t, s.at(10*time.Minute, true), "there is no other target")
	require.Equal(t, []string{"ended to 1"}, s.at(20*time.Minute, false))
}

// The list of targets changes while an alert fires. If the list still contains the target that was
// notified, that target gets the message that the alert has resolved. The search for the next
// target begins at that target.
func TestTheEndGoesToTheOneThatWasTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		targets     []string
		next, ended string
	}{
		"before it":  {[]string{"b", "a"}, "", "ended to 1"},
		"around it":  {[]string{"b", "a", "c"}, "began to 2", "ended to 1"},
		"without it": {[]string{"b", "c"}, "began to 0", "ended to 0"},
		"shorter":    {[]string{"a"}, "", "ended to 0"},
		"nobody":     {[]string{}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, came := range []bool{true, false} {
				s := &story{targets: []string{"a"}}
				s.at(0, true)
				require.Equal(t, []string{"began to 0"}, s.at(2*time.Minute, true))
				s.targets = c.targets
				if came {
					s.came()
					require.Equal(t, c.ended, strings.Join(s.at(20*time.Minute, false), ", "))
				} else {
					require.Equal(t, c.next, strings.Join(s.at(20*time.Minute, true), ", "))
				}
			}
		})
	}
}

func TestNobodyIsToldOfWhatIsMuted(t *testing.T) {
	t.Parallel()
	s := &story{muted: map[string]bool{"breaker_open": true}}
	s.at(0, true)
	require.Empty(t, s.at(time.Hour, true))
	s.muted = nil
	require.Equal(t, []string{"began to 0"}, s.at(2*time.Hour, true))
}

func TestSomeThingsMayLastLonger(t *testing.T) {
	t.Parallel()
	s := &story{for_: 15 * time.Minute}
	s.at(0, true)
	require.Empty(t, s.at(14*time.Minute, true))
	require.Equal(t, []string{"began to 0"}, s.at(15*time.Minute, true))
}
