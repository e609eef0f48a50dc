package main_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
)

func TestWrongArgumentsAreAnsweredWithTheUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"events show":             "0 arguments given; usage: hooklatch events show SOURCE EVENT_ID [flags]",
		"events show a b c":       "3 arguments given; usage: hooklatch events show SOURCE EVENT_ID [flags]",
		"destinations pause":      "0 arguments given; usage: hooklatch destinations pause NAME [flags]",
		"check extra":             "1 argument given; usage: hooklatch check [flags]",
		"evnts list":              `unknown command "evnts"; did you mean "events"? commands of hooklatch: `,
		"events lst":              `unknown command "lst"; did you mean "list"? commands of hooklatch events: `,
		"nonsense --help":         `unknown command "nonsense"; commands of hooklatch: `,
		"--help nonsense":         `unknown command "nonsense"; commands of hooklatch: `,
		"effects nonsense --help": `unknown command "nonsense"; commands of hooklatch effects: `,
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			var c clitest.Command
			require.Equal(t, cli.ExitMisused, c.Run(t.Context(), strings.Fields(args)...), c.Stdout.String())
			require.Empty(t, c.Stdout.String())
			require.Contains(t, c.Stderr.String(), "hooklatch: "+want)
			require.NotContains(t, c.Stderr.String(), "arg(s)")
		})
	}
}

func TestHelpAfterAnArgument(t *testing.T) {
	t.Parallel()
	require.Equal(t, clitest.Must(t, "init", "--help"), clitest.Must(t, "init", "stripe", "--help"))
	require.Equal(t, clitest.Must(t, "backfill", "--help"), clitest.Must(t, "backfill", "stripe", "--help"))
}

func TestVersionFlag(t *testing.T) {
	t.Parallel()
	require.Equal(t, clitest.Must(t, "version"), clitest.Must(t, "--version"))
}

func TestValuesComplete(t *testing.T) {
	t.Parallel()
	path := clitest.WriteConfig(t, "postgres://nobody@127.0.0.1:1/none")
	for args, want := range map[string][]string{
		"send":                         cli.DevSourceNames(),
		"destinations pause":           {"app", "mail"},
		"events list --source":         cli.DevSourceNames(),
		"events list --state":          {"received", "skipped", "held"},
		"events list --type":           {"invoice.paid"},
		"send stripe --type":           {"invoice.paid"},
		"effects list --state":         {"pending", "in_doubt", "parked"},
		"effects list --destination":   {"app", "mail"},
		"effects retry --destination":  {"app", "mail"},
		"providers":                    {"stripe", "github", "hmac"},
		"serve --log-format":           {"text", "json"},
		"completion":                   {"bash", "zsh", "fish"},
		"--config nowhere.yaml send":   {},
		"events show stripe --config ": {},
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(args)
			if !strings.Contains(args, "--config") {
				words = append([]string{"--config", path}, words...)
			}
			out := clitest.Must(t, append(append([]string{"__complete"}, words...), "")...)
			for _, word := range want {
				require.Regexp(t, `(?m)^`+word+`(\s|$)`, out)
			}
			if len(want) == 0 {
				require.NotContains(t, out, "stripe")
			}
		})
	}
}
