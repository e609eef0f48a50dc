package export

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/plainjson"
)

// format is the version of the manifest and of the files that it lists.
const format = 1

// Manifest lists the files of a day.
type Manifest struct {
	Format     int    `json:"format"`
	Day        string `json:"day"`
	Written    string `json:"written"` // time, by the clock of the machine that wrote it
	Deliveries int64  `json:"deliveries"`
	Events     int64  `json:"events"`
	// IDs is the XOR of the last 48 bits of all deliveries' ids.
	IDs   string `json:"ids"`
	Parts []Part `json:"parts"`
}

// newManifest returns the manifest of a day with these parts.
func newManifest(d Day, parts []Part, ids int64) *Manifest {
	m := &Manifest{Format: format, Day: d.Name(), Written: time.Now().UTC().Format(time.RFC3339), IDs: fmt.Sprintf("%012x", ids), Parts: parts}
	for _, p := range parts {
		m.Deliveries, m.Events = m.Deliveries+p.Deliveries, m.Events+p.Events
	}
	return m
}

// names returns the names of the files that m lists.
func (m *Manifest) names() []string {
	var names []string
	for _, p := range m.Parts {
		names = append(names, p.names()...)
	}
	return names
}

// CorruptError is returned when a file of the export differs from the file that was written.
type CorruptError struct{ Name, Why string }

// Error implements error.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("the file %s of the export is damaged: %s", e.Name, e.Why)
}

// manifest reads the valid manifest of a day.
func (a *Archive) manifest(ctx context.Context, d Day) (*Manifest, error) {
	a.mu.Lock()
	m := a.manifests[d.Manifest]
	a.mu.Unlock()
	if m != nil {
		return m, nil
	}
	text, err := a.get(ctx, d.Manifest, hex.EncodeToString(d.sum))
	if err != nil {
		return nil, err
	}
	m = new(Manifest)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, &CorruptError{d.Manifest, err.Error()}
	}
	if m.Format != format {
		return nil, fmt.Errorf("%s has format %d, and this version reads format %d: upgrade hooklatch", d.Manifest, m.Format, format)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.manifests) >= manifestsKept {
		clear(a.manifests)
	}
	a.manifests[d.Manifest] = m
	return m, nil
}

// get reads a whole file and verifies its checksum.
func (a *Archive) get(ctx context.Context, name, sum string) ([]byte, error) {
	content, err := a.storage.Get(ctx, name, 0, -1)
	if err != nil {
		return nil, fmt.Errorf("read %s from %s: %w", name, a.storage, err)
	}
	if got := sumOf(content); got != sum {
		return nil, &CorruptError{name, fmt.Sprintf("its SHA-256 is %s instead of %s", got, sum)}
	}
	return content, nil
}

// verify reads back the files of all parts. If the time limit is reached, it returns ErrUnfinished,
// and the next call of this process continues with the next part. A large day takes longer to read
// than one call may last. The function over may be nil.
func (a *Archive) verify(ctx context.Context, parts []Part, over func() bool) error {
	for i, p := range parts {
		if a.isVerified(p) {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := a.verifyPart(ctx, p); err != nil {
			return err
		}
		a.setVerified(true, p)
		if i+1 < len(parts) && over != nil && over() {
			return ErrUnfinished
		}
	}
	a.setVerified(false, parts...) // the next verification reads every part again
	return nil
}

func (a *Archive) isVerified(p Part) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.verified[p.Name]
}

func (a *Archive) setVerified(verified bool, parts ...Part) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range parts {
		if verified {
			a.verified[p.Name] = true
		} else {
			delete(a.verified, p.Name)
		}
	}
}

// verifyPart reads back the files of a part, and compares the checksums and the numbers of
// deliveries and events with those in p.
func (a *Archive) verifyPart(ctx context.Context, p Part) error {
	data, err := a.get(ctx, p.Name, p.SHA256)
	if err != nil {
		return err
	}
	var deliveries, events int64
	err = eachLine(data, func(line *Line) { deliveries, events = deliveries+1, events+int64(len(line.Events)) })
	if err != nil {
		return &CorruptError{p.Name, err.Error()}
	}
	if deliveries != p.Deliveries || events != p.Events {
		return &CorruptError{p.Name, fmt.Sprintf("it has %d deliveries and %d events instead of %d and %d", deliveries, events, p.Deliveries, p.Events)}
	}
	index, err := a.storage.Get(ctx, p.Index, 0, -1)
	if err != nil {
		return fmt.Errorf("read %s from %s: %w", p.Index, a.storage, err)
	}
	for _, s := range p.Sections {
		if int64(len(index)) < s.Bytes || sumOf(index[:s.Bytes]) != s.SHA256 {
			return &CorruptError{p.Index, "a section does not have its checksum"}
		}
		index = index[s.Bytes:]
	}
	return nil
}

// publish makes m the valid manifest of a day, instead of d.Manifest. It first reads back the files
// that only m lists, and writes m. Finally it deletes the files that are no longer listed. It
// returns the name of the new manifest, or ErrUnfinished if over reports that the time limit is
// reached.
func (a *Archive) publish(ctx context.Context, d Day, m *Manifest, over func() bool) (string, error) {
	former := new(Manifest)
	if d.Manifest != "" {
		var err error
		if former, err = a.manifest(ctx, d); err != nil {
			return "", err
		}
	}
	written := slices.DeleteFunc(slices.Clone(m.Parts), func(p Part) bool {
		return slices.ContainsFunc(former.Parts, func(f Part) bool { return f.Name == p.Name })
	})
	if err := a.verify(ctx, written, over); err != nil {
		return "", err
	}
	text, err := plainjson.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("encode manifest: %w", err)
	}
	finished := finishDay{Day: d.Day, BegunAt: d.begunAt, Was: d.Manifest, Manifest: d.Name() + "/manifest-" + nonce() + ".json", Deliveries: m.Deliveries, Events: m.Events}
	if err := a.put(ctx, d, map[string][]byte{finished.Manifest: text}); err != nil {
		return "", err
	}
	sum := sumOf(text)
	if _, err := a.get(ctx, finished.Manifest, sum); err != nil {
		return "", err
	}
	finished.SHA256, _ = hex.DecodeString(sum)
	finished.Names = append(m.names(), finished.Manifest)
	for _, p := range m.Parts {
		finished.Bytes += p.Bytes
	}
	if d.Manifest != "" {
		finished.Former = append(former.names(), d.Manifest)
	}
	err = a.change(ctx, func(ctx context.Context, tx pgx.Tx) (int64, error) {
		tag, err := a.sql.FinishDay.With(finished).Exec(ctx, tx)
		return tag.RowsAffected(), err
	})
	if err != nil {
		return "", fmt.Errorf("make the manifest of %s valid: %w", d.Name(), err)
	}
	return finished.Manifest, a.sweep(ctx, d.Day)
}
