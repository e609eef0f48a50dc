package doctor

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// CheckDurability is the name of the check that reports the failures that an acknowledged event
// survives.
const CheckDurability = "durability"

// survival describes the failures that an acknowledged event survives, as far as Postgres's
// settings show. A hosting service may also replicate the server's disk, which Postgres cannot
// detect.
func (f facts) survival() Finding {
	found := Finding{Level: OK, Check: CheckDurability}
	switch {
	case f.StandbyNames != "":
		found.Message = f.confirmed() + ": it survives the loss of this machine, provided that no other standby is promoted" + f.others()
	case f.AsyncStandbys+f.HiddenStandbys > 0:
		found.Level = Warning
		found.Message = standbys(f.AsyncStandbys+f.HiddenStandbys, "standby follows", "standbys follow") + " asynchronously: a failover loses the most recent events, although they were answered with 2xx"
		found.Fix = "set synchronous_standby_names if you cannot accept this loss"
	default:
		found.Message = "an event is answered with 2xx when this server alone has it on disk. The event survives a crash, but not the loss of this machine, unless a service copies the machine's disk"
	}
	return found
}

// required matches the number of standbys in synchronous_standby_names, such as ANY 2 (a, b, c). A
// plain list requires one standby.
var required = regexp.MustCompile(`(?i)^\s*(ANY|FIRST)?\s*(\d+)\s*\(`)

// confirmed says for which standbys a COMMIT waits. Hooklatch raises synchronous_commit to on, and
// keeps remote_apply.
func (f facts) confirmed() string {
	number, which := 1, "the first in synchronous_standby_names"
	if found := required.FindStringSubmatch(f.StandbyNames); found != nil {
		number, _ = strconv.Atoi(found[2]) // the pattern allows digits only
		if strings.EqualFold(found[1], "ANY") {
			which = "any in synchronous_standby_names"
		}
	}
	does := " on disk"
	if f.SynchronousCommit == "remote_apply" {
		does += " and has applied it"
	}
	if number == 1 {
		return fmt.Sprintf("an event is answered with 2xx when a standby (%s) has it%s", which, does)
	}
	return fmt.Sprintf("an event is answered with 2xx when %d standbys (%s) have it%s", number, which, strings.Replace(does, " has ", " have ", 1))
}

// others returns a warning that transactions which Hooklatch does not begin may be lost, or "" if
// they are as durable as Hooklatch's.
func (f facts) others() string {
	switch f.SynchronousCommit {
	case "on", "remote_apply":
		return ""
	default:
		return fmt.Sprintf("; transactions that your applications begin themselves may be lost, because synchronous_commit is %s", f.SynchronousCommit)
	}
}
