package repair

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/sqlstate"
)

// sequence is a database sequence that is behind its rows: a stored row has a higher number than
// the sequence has assigned.
type sequence struct {
	name    string
	last    int64 // last number that the sequence assigned; 0: none
	highest int64 // highest number in a stored row
}

// sequences returns the sequences that are behind their rows: a move by logical replication copies
// no positions of sequences. New rows would get the numbers of stored rows. Retention and
// redaction, which continue after a number, would never reach the new rows. A promoted standby has
// the sequences of the former server, and its promotion is urgent. On a server that may be a
// promoted standby, sequences therefore reads all rows only if one of the two sequences that every
// delivery uses is behind.
func (r *Repairer) sequences(ctx context.Context, s State) ([]sequence, error) {
	if s.Withheld && s.Known.SystemID == s.Here.SystemID {
		var again bool
		if err := r.sql.BeginsAgain.QueryRow(ctx, r.opts.ReadPool).Scan(&again); err != nil || !again {
			return nil, err
		}
	}
	rows, err := r.sql.Sequences.Query(ctx, r.opts.ReadPool)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (sequence, error) {
		var s sequence
		err := row.Scan(&s.name, &s.last, &s.highest)
		return s, err
	})
}

// setSequences moves sequences forward to the highest numbers in stored rows. If this process's
// role may not do this, the error contains the statements that the tables' owner must run.
func (r *Repairer) setSequences(ctx context.Context, tx pgx.Tx, all []sequence) error {
	for _, s := range all {
		_, err := r.sql.SetSequence.With(setSequence{Name: s.name, Highest: s.highest}).Exec(ctx, tx)
		if sqlstate.Is(err, sqlstate.InsufficientPrivilege) {
			var statements strings.Builder
			for _, s := range all {
				fmt.Fprintf(&statements, "\n  SELECT setval('%s', %d);", s.name, s.highest)
			}
			return fmt.Errorf("new rows would get the numbers of stored rows, and this role may not change that: stop all processes, run these statements as the owner of the tables, and repeat the command:%s\n%w", statements.String(), err)
		}
		if err != nil {
			return fmt.Errorf("set %s: %w", s.name, err)
		}
	}
	return nil
}
