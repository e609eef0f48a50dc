package firstrun

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Questions asks on a terminal for the answers that are missing.
type Questions struct {
	In  io.Reader
	Out io.Writer
	// Hidden reads a line without echo. It is called while no other read of In is running.
	Hidden func(context.Context) (string, error)

	// Shown lists the providers whose setup steps were printed.
	Shown []string

	lines *bufio.Reader
}

// maxRepeats is the maximum number of times that a question is asked if its answer is not allowed.
const maxRepeats = 3

// Choose asks for the providers and the target if they are missing. Together they determine which
// files are written, and which other answers are known already.
func (q *Questions) Choose(ctx context.Context, a Answers) (Answers, error) {
	if len(a.Providers) == 0 {
		names, err := q.ask(ctx, "Which services send you webhooks? Names, such as stripe github", "", func(text string) error {
			if text == "" {
				return errors.New("name at least one; `hooklatch providers` lists all providers")
			}
			for _, name := range words(text) {
				if err := checkProvider(name); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return a, err
		}
		a.Providers = words(names)
	}
	if a.Target == "" {
		target, err := q.ask(ctx, "How will Hooklatch run? "+targetNames(), string(Binary), func(text string) error {
			if !slices.Contains(Targets(), Target(text)) {
				return fmt.Errorf("%q is not one of %s", text, targetNames())
			}
			return nil
		})
		if err != nil {
			return a, err
		}
		a.Target = Target(target)
	}
	return a, nil
}

// Complete asks at most five questions for missing answers, including those of Choose, then asks
// for each sender's missing secret. It returns all answers.
func (q *Questions) Complete(ctx context.Context, a Answers) (Answers, error) {
	a, err := q.Choose(ctx, a)
	if err != nil {
		return a, err
	}
	if a.To == "" {
		a.To, err = q.ask(ctx, "Which URL of your application receives the events?", DefaultTo(a.Target), func(text string) error { return CheckURL("this URL", text) })
		if err != nil {
			return a, err
		}
	}
	if a.Database.IsZero() && a.Target != Compose {
		url, err := q.ask(ctx, "Which Postgres stores the events? Its connection URL", DefaultDatabase, func(text string) error { return checkDotenv(databaseURL, secret.New(text)) })
		if err != nil {
			return a, err
		}
		a.Database = secret.New(url)
	}
	if a.PublicURL == "" {
		a.PublicURL, err = q.ask(ctx, "Which URL do senders call? Yours or your proxy's, with https", PlaceholderURL, func(text string) error { return CheckURL("this URL", text) })
		if err != nil {
			return a, err
		}
	}
	a.Given, err = q.secrets(ctx, a)
	return a, err
}

// secrets returns each sender's secret by its variable. For a missing secret, it prints the setup
// steps of the sender and asks for the secret without echo.
func (q *Questions) secrets(ctx context.Context, a Answers) (map[string]secret.Value, error) {
	given := map[string]secret.Value{}
	for _, name := range a.Providers {
		d, err := catalog.Describe(name)
		if err != nil {
			return nil, err
		}
		variable := catalog.SecretVariable(name)
		if given[variable] = a.Given[variable]; d.Keyless || !given[variable].IsZero() {
			continue
		}
		q.Shown = append(q.Shown, name)
		fmt.Fprintf(q.Out, "\n%s:\n", d.Title)
		for i, step := range Steps(d, a.WebhookURL(name)) {
			fmt.Fprintf(q.Out, "  %d. %s\n", i+1, step)
		}
		if given[variable], err = q.Secret(ctx, d); err != nil {
			return nil, err
		}
	}
	return given, nil
}

// Secret asks for a sender's secret without echo. It returns an empty secret if the operator
// postpones the answer.
func (q *Questions) Secret(ctx context.Context, d catalog.Description) (secret.Value, error) {
	later, again := "", ""
	if !NewSecret(d).IsZero() { // the program can start with a random value, until the operator has the sender's secret
		later, again = " (Enter: later)", ", and press Enter to give it later"
	}
	for range maxRepeats {
		fmt.Fprintf(q.Out, "Secret of %s, not shown%s: ", d.Title, later)
		text, err := q.Hidden(ctx)
		fmt.Fprintln(q.Out)
		if err != nil {
			return secret.Value{}, err
		}
		one := secret.New(strings.TrimSpace(text))
		if one.IsZero() && later != "" {
			return one, nil
		}
		if d.CheckSecret != nil {
			err = d.CheckSecret(one)
		}
		if err == nil {
			err = checkDotenv("the secret", one)
		}
		if err == nil {
			return one, nil
		}
		fmt.Fprintf(q.Out, "That cannot be the secret: %s\n", err)
	}
	return secret.Value{}, fmt.Errorf("no usable secret of %s after %d tries: start again%s", d.Title, maxRepeats, again)
}

// Confirm asks a question whose default answer is yes, and reports whether the answer is yes.
func (q *Questions) Confirm(ctx context.Context, question string) (bool, error) {
	text, err := q.ask(ctx, question, "yes", func(text string) error {
		if !slices.Contains([]string{"y", "yes", "n", "no"}, strings.ToLower(text)) {
			return errors.New("answer yes or no")
		}
		return nil
	})
	return strings.HasPrefix(strings.ToLower(text), "y"), err
}

// ask repeats a question, at most maxRepeats times, until its answer is allowed.
func (q *Questions) ask(ctx context.Context, question, usual string, check func(string) error) (string, error) {
	for range maxRepeats {
		fmt.Fprint(q.Out, question)
		if usual != "" {
			fmt.Fprintf(q.Out, " [%s]", usual)
		}
		fmt.Fprint(q.Out, ": ")
		text, err := q.line(ctx)
		if err != nil {
			return "", err
		}
		if text = strings.TrimSpace(text); text == "" {
			text = usual
		}
		err = check(text)
		if err == nil {
			return text, nil
		}
		fmt.Fprintf(q.Out, "%s\n", err)
	}
	return "", fmt.Errorf("no usable answer after %d tries: %s", maxRepeats, question)
}

// line reads a line, or returns when ctx is done: a read of a terminal cannot be interrupted.
func (q *Questions) line(ctx context.Context) (string, error) {
	if q.lines == nil {
		q.lines = bufio.NewReader(q.In)
	}
	type result struct {
		text string
		err  error
	}
	read := make(chan result, 1)
	go func() {
		text, err := q.lines.ReadString('\n')
		read <- result{text, err}
	}()
	select {
	case r := <-read:
		if r.err != nil {
			return "", fmt.Errorf("read the answer: %w", r.err)
		}
		return r.text, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// words splits a list of names at spaces and commas.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
}

// WebhookURL returns the URL to enter at a sender.
func (a Answers) WebhookURL(provider string) string {
	return strings.TrimRight(a.WithDefaults().PublicURL, "/") + "/webhooks/" + provider
}
