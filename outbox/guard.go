package outbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// guardKey is the key of a row in replay_guards or content_guards.
type guardKey struct {
	source identity.Source
	hash   [sha256.Size]byte
}

// guards are the results of a batch's guards, for the few sources that use them.
type guards struct {
	// replayed contains, by index, the verdict for each arrival whose proof was used before.
	replayed map[int]verdict
	contentWindows
}

// verdict is the result of a replay guard for an arrival. The zero value means no replay.
type verdict struct {
	action  ReplayAction
	differs bool // the proof was used before with other content
}

// verdict returns the result for a delivery whose proof was used before. The argument is the hash
// of the content that was stored with the proof, or nil.
func (g *ReplayGuard) verdict(before []byte) verdict {
	v := verdict{action: g.Action, differs: len(before) > 0 && len(g.Content) > 0 && !bytes.Equal(before, hashed(g.Content))}
	if v.differs && v.action == ReplayFlag {
		v.action = ReplayHold
	}
	return v
}

// hashed returns the SHA-256 of content, or nil if content is empty.
func hashed(content []byte) []byte {
	if len(content) == 0 {
		return nil
	}
	sum := sha256.Sum256(content)
	return sum[:]
}

// guard writes the guards of the batch and returns their results. Every transaction writes guards
// before events, so that two transactions cannot deadlock.
func (o *Outbox) guard(ctx context.Context, tx pgx.Tx, batch []arrival) (guards, error) {
	var g guards
	var err error
	if g.replayed, err = o.guardReplays(ctx, tx, batch); err != nil {
		return guards{}, err
	}
	if g.contentWindows, err = o.openWindows(ctx, tx, batch, g.replayed); err != nil {
		return guards{}, err
	}
	return g, nil
}

// contentKey is a guardKey as an argument of statements. Hash is the SHA-256 of a proof or of an
// event's content.
type contentKey struct {
	Source identity.Source
	Hash   []byte
}

func (k guardKey) argument() contentKey { return contentKey{Source: k.source, Hash: k.hash[:]} }

type proofRow struct {
	contentKey

	AcceptanceID uuid.UUID
	Content      []byte
}

type replayGuard struct{ Proofs []proofRow }

func (o *Outbox) guardReplays(ctx context.Context, tx pgx.Tx, batch []arrival) (map[int]verdict, error) {
	var proofs []proofRow
	asked := make(map[guardKey]bool)
	replayed := make(map[int]verdict)
	for _, a := range batch {
		if a.ReplayGuard == nil || len(a.ReplayGuard.Proof) == 0 {
			continue
		}
		key := guardKey{source: a.Source, hash: sha256.Sum256(a.ReplayGuard.Proof)}
		if asked[key] {
			continue
		}
		asked[key] = true
		proofs = append(proofs, proofRow{
			contentKey: contentKey{Source: a.Source, Hash: key.hash[:]}, AcceptanceID: a.deliveryID, Content: hashed(a.ReplayGuard.Content),
		})
	}
	if len(proofs) == 0 {
		return nil, nil
	}
	rows, err := o.sql.ReplayGuard.With(replayGuard{Proofs: proofs}).Query(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("guard against replays: %w", err)
	}
	known := make(map[guardKey]knownProof, len(proofs))
	var source identity.Source
	var hash []byte
	var p knownProof
	if _, err := pgx.ForEachRow(rows, []any{&source, &hash, &p.deliveryID, &p.content}, func() error {
		known[guardKey{source: source, hash: [sha256.Size]byte(hash)}] = p
		p.content = nil // the scan of the next row must allocate new bytes
		return nil
	}); err != nil {
		return nil, fmt.Errorf("guard against replays: %w", err)
	}
	for i, a := range batch {
		if a.ReplayGuard == nil || len(a.ReplayGuard.Proof) == 0 {
			continue
		}
		stands := known[guardKey{source: a.Source, hash: sha256.Sum256(a.ReplayGuard.Proof)}]
		if stands.deliveryID != a.deliveryID {
			replayed[i] = a.ReplayGuard.verdict(stands.content)
		}
	}
	return replayed, nil
}

// knownProof is the first delivery with a proof.
type knownProof struct {
	deliveryID uuid.UUID
	content    []byte // SHA-256 of the guard's Content; nil if none was remembered
}
