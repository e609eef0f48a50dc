package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// resendFlags are the flags that change a request before it is sent again.
type resendFlags struct {
	body    string
	edit    bool
	headers []string
}

// ResentView is the result of the resend command, as --json prints it.
type ResentView struct {
	Action ledger.Action `json:"action"`
	Target string        `json:"target"`
	Result string        `json:"result"`
	Key    string        `json:"idempotency_key"` // key of the new effect
}

// newEffectsResend returns the command that sends an effect's request again as a new effect.
func (c *cli) newEffectsResend(v desk.Verb) *cobra.Command {
	var f resendFlags
	var by operatorFlags
	cmd := &cobra.Command{
		Use:   v.Name + " KEY",
		Short: v.Short,
		Long: longOf(v, "The command prints the new key. The receiver cannot recognise the new effect as a repetition: if it has applied the old effect, it applies the request again. Therefore --reason is required. It is recorded with the operator's name.") + `

--edit opens the body in the editor that VISUAL or EDITOR names. If you do not change the
text, nothing is sent. --body reads the new body from a file. Without these flags the old
body is sent, byte for byte. A header without a value is removed.

Use 'hooklatch effects retry' to send a failed effect again under its own key.`,
		Example: "  " + c.Name + " effects resend hl_0123... --edit --reason \"the tax was wrong\"\n" +
			"  " + c.Name + " effects resend hl_0123... --body order.json --header X-Kind=order --reason \"requested by support\"",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.edit && f.body != "":
				return misused("--edit and --body exclude each other")
			case strings.TrimSpace(by.reason) == "":
				return misused("the receiver may apply the request twice: state the reason with --reason")
			}
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				return c.resend(cmd.Context(), o, v, args[0], f, by.operator())
			})
		},
	}
	cmd.Flags().StringVar(&f.body, "body", "", "read the new body from this `file` (\"-\" is standard input)")
	cmd.Flags().BoolVar(&f.edit, "edit", false, "edit the body in an editor")
	cmd.Flags().StringArrayVar(&f.headers, "header", nil, "set a header, given as `name=value`; may be repeated")
	by.register(cmd)
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) resend(ctx context.Context, o *outbox.Outbox, v desk.Verb, key string, f resendFlags, by ledger.Operator) error {
	e, err := o.Ledger().Effect(ctx, key)
	if errors.Is(err, ledger.ErrNotFound) {
		return c.noSuchEffect(key)
	}
	if err := cmp.Or(err, e.CheckResend()); err != nil {
		return err
	}
	changes, err := c.changes(ctx, o, e, f)
	if err != nil {
		return err
	}
	by.RequestID = uuid.NewString()
	if err := v.Do(ctx, o, desk.Target{Name: e.IdempotencyKey}, desk.Terms{Request: changes}, by); err != nil {
		return err
	}
	anew := ledger.ResentKey(e.IdempotencyKey, by.RequestID)
	if c.asJSON {
		return PrintJSON(c.Stdout, ResentView{Action: v.Action, Target: e.IdempotencyKey, Result: v.Result(), Key: anew})
	}
	_, err = fmt.Fprintf(c.Stdout, "%s is %s to %s as %s\nshow it with: %s\n", e.IdempotencyKey, v.Past, safetext.Shown(e.Destination), anew, c.command("effects show "+anew))
	return err
}

// changes returns the changes that the flags describe.
func (c *cli) changes(ctx context.Context, o *outbox.Outbox, e ledger.Effect, f resendFlags) (changes ledger.Resend, err error) {
	switch {
	case f.body != "":
		if changes.Body, err = c.readBody(f.body); err != nil {
			return changes, err
		}
	case f.edit:
		if err := o.Ledger().LoadBody(ctx, &e); errors.Is(err, ledger.ErrNotFound) {
			return changes, fmt.Errorf("the body of %s is no longer stored: give a new one with --body", e.IdempotencyKey)
		} else if err != nil {
			return changes, err
		}
		if changes.Body, err = c.edited(ctx, e.Request.Body); err != nil {
			return changes, err
		}
	}
	set, err := parseHeaders(f.headers)
	if err != nil {
		return changes, err
	}
	// A new or changed header must be one that a route may set.
	wanted := ledger.Request{ContentType: e.Request.ContentType, Headers: maps.Clone(e.Request.Headers)}
	if wanted.Headers == nil {
		wanted.Headers = map[string][]string{}
	}
	for name, values := range set {
		maps.DeleteFunc(wanted.Headers, func(old string, _ []string) bool { return http.CanonicalHeaderKey(old) == name })
		if name == "Content-Type" {
			wanted.ContentType = values[0]
		} else if strings.Join(values, "") != "" {
			wanted.Headers[name] = values
		}
	}
	if err := desk.EditHeaders(&changes, desk.HeaderLines(wanted), e.Request); err != nil {
		return changes, misused("--header: %s", err)
	}
	return changes, nil
}

// edited opens a body in the user's editor, and returns the changed body. An unchanged body is an
// error.
func (c *cli) edited(ctx context.Context, body []byte) ([]byte, error) {
	editor := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"))
	if editor == "" {
		return nil, misused("--edit needs the environment variable VISUAL or EDITOR")
	}
	dir, err := os.MkdirTemp("", "hooklatch-") // only this user may read it
	if err != nil {
		return nil, fmt.Errorf("edit the body: %w", err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "body")
	if err := os.WriteFile(file, body, 0o600); err != nil {
		return nil, fmt.Errorf("edit the body: %w", err)
	}
	command := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", file) //nolint:gosec // the user's own editor, which may have arguments
	command.Stdin, command.Stdout, command.Stderr = c.Stdin, c.Stdout, c.Stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("edit the body with %s: %w", editor, err)
	}
	changed, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("edit the body: %w", err)
	}
	if bytes.Equal(changed, body) {
		return nil, errors.New("the body was not changed: nothing is sent")
	}
	return nonNil(changed), nil
}
