package planted

import (
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
)

func keeping() []Case {
	return []Case{
		{Bug: bugs.RetentionBelowWindow, Rules: []checker.Rule{"I2", checker.RuleLinear}, run: steps{
			start("serve"),
			acknowledge("serve", "github", "delivered-again-later"),
			// The time is stored separately, because a worker with the bug may delete the event
			// once it is some seconds old.
			changes(`CREATE TABLE accepted AS SELECT now() AS at`),
			sees("the event is done, and some seconds old", `
				SELECT
				FROM accepted
				WHERE now() > at + interval '3 seconds'
					AND NOT EXISTS (SELECT FROM hooklatch.processed_events WHERE outcome = 'received')
					AND NOT EXISTS (SELECT FROM hooklatch.effects WHERE state <> 'done')`),
			command("serve", "retention", "run"),
			acknowledge("serve", "github", "delivered-again-later"),
		}.play},
	}
}
