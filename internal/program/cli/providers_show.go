package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/internal/size"
)

// pageWidth is the maximum width of prose lines, in characters.
const pageWidth = 96

func (c *cli) showProvider(name string, cfg *config.Config) error {
	if !slices.Contains(catalog.Names(), name) {
		return fmt.Errorf("no provider is named %q; `%s providers` lists all of them. For other senders use the provider hmac, token, basic or jwt", name, c.Name)
	}
	d, err := describe(name, cfg)
	if err != nil {
		return err
	}
	if c.asJSON {
		return PrintJSON(c.Stdout, d)
	}
	c.printDescribed(d)
	return nil
}

func (c *cli) printDescribed(d Described) {
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(c.Stdout, "%-13s  %s\n", name, wrapped(value, 15))
		}
	}
	fmt.Fprintf(c.Stdout, "%s (%s)\n\n", d.Title, d.Name)
	field("signing", d.Signing)
	field("same event", d.KeyRule)
	if d.Deadline != "" {
		field("waits", d.Deadline+" for the response")
	}
	field("retries", lasting(d.Retries, "never automatically"))
	field("resends", lasting(d.Resends, "not on request"))
	field("keep dedup", fmt.Sprintf("at least %s (%s)", d.Floor, d.FloorReason))
	field("answer", d.answer())
	field("handshake", d.handshake())
	field("methods", strings.Join(d.Methods, ", "))
	field("replay guard", d.guard())
	field("confirmed", howSure(d.Confirmed))
	if d.OldSecrets {
		field("rotation", "retries are signed with the secret of the first delivery: an old secret stays valid for "+d.Retries+" after not_after")
	}
	if d.MaxBody > 0 {
		field("largest body", size.Bytes(d.MaxBody).String())
	}
	field("own headers", strings.Join(d.OwnHeaders, ", "))
	field("options", strings.Join(d.Options, ", "))
	field("docs", d.Docs)

	c.section("setup")
	for i, step := range d.Setup {
		fmt.Fprintf(c.Stdout, "  %d. %s\n", i+1, wrapped(step, 5))
	}
	if len(d.Notes) > 0 {
		c.section("notes")
		for _, note := range d.Notes {
			fmt.Fprintf(c.Stdout, "  - %s\n", wrapped(note, 4))
		}
	}
	c.section("missed events")
	fmt.Fprintf(c.Stdout, "  %s\n", wrapped(cmp.Or(d.Backfill, "The sender offers no list of events to compare with."), 2))
	c.section("configuration")
	for line := range strings.Lines(d.Snippet) {
		fmt.Fprintf(c.Stdout, "  %s", line)
	}
	if len(d.Sources) > 0 {
		c.section("configured sources")
		for _, s := range d.Sources {
			fmt.Fprintf(c.Stdout, "  %s  %s\n", s.Name, safetext.Shown(s.URL))
		}
	}
}

func (c *cli) section(title string) { fmt.Fprintf(c.Stdout, "\n%s\n", title) }

// howSure describes how each fact is confirmed.
func howSure(c provider.Confirmed) string {
	by := func(fact string, e provider.Evidence) string {
		if e == provider.Nobody {
			return fact + " unconfirmed"
		}
		return fact + " by " + strings.ReplaceAll(strings.Join(e.Names(), " and "), "_", " ")
	}
	facts := []string{by("signature", c.Signature), by("event id", c.EventID)}
	if c.Handshake != provider.NoSuchThing {
		facts = append(facts, by("handshake", c.Handshake))
	}
	facts = append(facts, by("retries", c.RetryWindow), by("resends", c.Resend))
	return strings.Join(facts, "; ")
}

func lasting(window, none string) string {
	if window == "" {
		return none
	}
	return "for " + window
}

func (d Described) answer() string {
	if d.OwnAnswer {
		return "the response that this sender requires"
	}
	return "200 with a JSON summary, also for duplicates"
}

func (d Described) handshake() string {
	if d.Handshake {
		return "the gateway answers the sender's checks of the endpoint, and does not store them"
	}
	return "none"
}

func (d Described) guard() string {
	switch {
	case d.AnyBody:
		return "refuse by default: the signature does not cover the body, so a captured signature could be replayed with another body"
	case d.UnsignedID:
		return "flag by default: the id is not signed, so a captured delivery could be replayed under a new id"
	case d.ReplayGuard:
		return "available, off by default"
	}
	return "not needed"
}

// wrapped breaks prose between words, and indents all lines but the first.
func wrapped(text string, indent int) string { return wrappedAt(pageWidth, text, indent) }

// wrappedAt is like wrapped, with a given width.
func wrappedAt(width int, text string, indent int) string {
	var b strings.Builder
	column := indent
	for i, word := range strings.Fields(text) {
		word = plain(word)
		length := len([]rune(word))
		switch {
		case i == 0:
		case column+1+length > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += length
	}
	return b.String()
}

// plain returns a word in a form that is safe for a terminal.
func plain(word string) string {
	if safe := safetext.Shown(word); safe == word {
		return word
	}
	return strconv.QuoteToASCII(word)
}
