package doctor

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/schema"
)

// neededRights lists the rights of docs/operations.md#roles, one per line: process, privilege, kind
// of object, object. A test with -update writes the list.
//
//go:embed rights/rights.txt
var neededRights string

// right is a privilege on a table, column, sequence or function of the schema.
type right struct{ Kind, Privilege, Object string }

type rightsQuestions struct {
	MissingRights statement.Of[struct{ Rights []right }]
}

// telltale contains, for each kind of process, a right that the roles of the other kinds do not
// have.
var telltale = map[string]right{
	"gateway": {"table", "INSERT", "sender_keys"},
	"worker":  {"table", "INSERT", "effects"},
}

// Rights checks whether the connected role has the rights that a gateway or a worker needs. New
// tables need new rights, so a role may lack some after a migration. There is no finding about
// other roles, such as a reader.
func Rights(ctx context.Context, pool *pgxpool.Pool, name schema.Name) ([]Finding, error) {
	var q rightsQuestions
	if err := statement.Load(&q, queries, "rights", name.SQL); err != nil {
		return nil, err
	}
	missing := func(rights ...right) ([]string, error) {
		rows, err := q.MissingRights.With(struct{ Rights []right }{rights}).Query(ctx, pool)
		if err != nil {
			return nil, fmt.Errorf("read the role's rights: %w", err)
		}
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return nil, fmt.Errorf("read the role's rights: %w", err)
		}
		return texts, nil
	}
	var findings []Finding
	for _, process := range []string{"gateway", "worker"} {
		lacking, err := missing(telltale[process])
		if err != nil {
			return nil, err
		}
		if len(lacking) > 0 {
			continue
		}
		if lacking, err = missing(rightsOf(process)...); err != nil {
			return nil, err
		}
		role := pool.Config().ConnConfig.User
		if len(lacking) == 0 {
			findings = append(findings, Finding{Level: OK, Check: "rights", Message: fmt.Sprintf("the role %s has all rights that a %s needs", role, process)})
			continue
		}
		findings = append(findings, Finding{
			Level: Problem, Check: "rights", Count: int64(len(lacking)),
			Message: fmt.Sprintf("the role %s lacks rights that a %s needs: %s", role, process, strings.Join(lacking, ", ")),
			Fix:     "run the statements of docs/operations.md#roles as the role that runs migrations; new tables need new rights",
		})
	}
	return findings, nil
}

func rightsOf(process string) []right {
	var rights []right
	for line := range strings.Lines(neededRights) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 4)
		if fields[0] == process {
			rights = append(rights, right{Privilege: fields[1], Kind: fields[2], Object: fields[3]})
		}
	}
	return rights
}
