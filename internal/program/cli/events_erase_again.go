package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// again repeats the erasure of a list's events and effects after a restore has brought them back.
// Unless yes is true, it only counts the lines of the list.
func (r *eraser) again(ctx context.Context, o *outbox.Outbox, name string, yes bool) error {
	refs, effects, err := r.readList(name)
	if err != nil {
		return err
	}
	view := erasureView{Action: erasure.ActionEraseEvent, Preview: !yes, Selected: int64(len(refs) + len(effects))}
	erase := func(target string, do func() (erasure.Erased, error)) error {
		_, err := do()
		_, unfinished := errors.AsType[*erasure.UnfinishedError](err)
		switch {
		case err == nil:
			view.Erased++
			view.Events = append(view.Events, target)
		case errors.Is(err, ledger.ErrNotFound):
			view.Unknown++
		case unfinished:
			view.Unfinished++
			r.complain(orCancel(err))
		default:
			return err
		}
		return nil
	}
	order := erasure.Order{Cancel: r.cancel, Filter: struct {
		Again bool `json:"again"`
	}{true}}
	for i := 0; yes && err == nil && i < len(refs); i++ {
		if err = context.Cause(ctx); err == nil {
			err = erase(refs[i].String(), func() (erasure.Erased, error) { return o.Erasure().Event(ctx, refs[i], r.by, order) })
		}
	}
	for i := 0; yes && err == nil && i < len(effects); i++ {
		if err = context.Cause(ctx); err == nil {
			err = erase(effects[i], func() (erasure.Erased, error) { return o.Erasure().Effect(ctx, effects[i], r.by, order) })
		}
	}
	view.Stopped = err != nil
	if r.asJSON {
		return errors.Join(err, PrintJSON(r.Stdout, view))
	}
	if !yes {
		_, err = fmt.Fprintf(r.Stdout, "%d listed\nerase them again with the same command and --yes\n", view.Selected)
		return err
	}
	fmt.Fprintf(r.Stdout, "%d of %d erased again, %d not found, %d unfinished\n", view.Erased, view.Selected, view.Unknown, view.Unfinished)
	return err
}

// readList reads the list that an erasure printed. Each line is SOURCE/EVENT_ID, which may be
// quoted, or an effect's key, with or without the prefix erasedLine.
func (r *eraser) readList(name string) (refs []identity.EventRef, effects []string, err error) {
	in := r.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, nil, fmt.Errorf("read list: %w", err)
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	lines := bufio.NewScanner(withoutMark(in))
	for lines.Scan() {
		line := strings.TrimPrefix(lines.Text(), erasedLine)
		if strings.HasPrefix(line, `"`) { // the name of a source never begins with a quotation mark
			if line, err = strconv.Unquote(strings.TrimSpace(line)); err != nil {
				return nil, nil, misused("%s: it is neither an event nor an effect", lines.Text())
			}
		}
		switch {
		case strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, "hl_") && !strings.Contains(line, "/"):
			effects = append(effects, strings.TrimSpace(line))
		default:
			ref, err := eventRef([]string{line})
			if err != nil {
				return nil, nil, err
			}
			refs = append(refs, ref)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, nil, fmt.Errorf("read list: %w", err)
	}
	return refs, effects, nil
}
