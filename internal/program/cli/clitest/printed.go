package clitest

import (
	"html"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
)

// Unknown stands for a value that the program fills in when it prints a command.
const Unknown = "{}"

// PrintedCommand is a command in a text for users.
type PrintedCommand struct {
	Where string
	Text  string // text after "hooklatch "
	// Prose is true if a sentence may continue after the command.
	Prose bool
}

var (
	// named matches the program's name and the rest of its line.
	named       = regexp.MustCompile("(?:^|[\\s/(\"'`>])hooklatch ([a-z{-].*)")
	placeholder = regexp.MustCompile(`^([A-Z][A-Z0-9_|]*|.*(\{\}|\.\.\.|…|<[^>]*>|\$|\{\{).*)$`)
	// FormatVerb matches a verb of a format.
	FormatVerb = regexp.MustCompile(`%(\[\d+\])?[a-z]`)
)

// Refused returns the reason why the program rejects the command, or an empty text.
func (c PrintedCommand) Refused(t *testing.T) string {
	t.Helper()
	cmd, args, open := cli.NewRoot(&cli.Process{Name: TestName}), []string(nil), false
	cmd.InitDefaultCompletionCmd("bash")
	words := wordsOf(c.Text)
	end := "" // the word or character at which the command ended
	next := func() (word string, ok bool) {
		if len(words) == 0 || end != "" {
			return "", false
		}
		word = words[0]
		if slices.Contains([]string{"|", ">", ">>", "2>", "<", "&&", "||", ";", "&", "\\"}, word) || strings.HasPrefix(word, "#") {
			end = word
			return "", false
		}
		words = words[1:]
		if c.Prose {
			bare := strings.TrimRight(word, ",;:.)`\"")
			if bare != word && !strings.HasSuffix(word, "...") && !strings.Contains(word, " ") {
				end = word[len(bare):]
				word = bare
			}
		}
		return word, word != ""
	}
	given := 0
	for {
		word, ok := next()
		if !ok {
			break
		}
		sub := slices.IndexFunc(cmd.Commands(), func(sub *cobra.Command) bool { return sub.Name() == word })
		switch {
		case sub >= 0 && given == 0:
			cmd = cmd.Commands()[sub]
			args = append(args, word)
			continue
		case cmd.HasSubCommands() && !strings.Contains(cmd.Use, " ") && !strings.HasPrefix(word, "-"):
			if placeholder.MatchString(word) || c.Prose && cmd != cmd.Root() {
				return "" // the word may stand for any subcommand, or be part of the sentence
			}
			return "no command " + word
		case strings.HasPrefix(word, "-"):
			name, value, has := strings.Cut(strings.TrimLeft(word, "-"), "=")
			flag := cmd.Flag(name)
			if len(word) == 2 {
				flag = cmd.Flags().ShorthandLookup(name)
			}
			switch {
			case name == "help":
				return ""
			case flag == nil:
				return "no flag " + word
			case flag.NoOptDefVal != "" && !has:
				args = append(args, word)
			default:
				if !has {
					if value, ok = next(); !ok && given == 0 {
						return "" // the sentence is about the command itself
					} else if !ok {
						return "no value for " + word
					}
				}
				args = append(args, "--"+flag.Name+"="+filled(flag, value))
			}
			given++
		case c.Prose && !placeholder.MatchString(word) && !strings.ContainsAny(word, "0123456789_./'-"):
			end = word // the sentence continues
		default:
			if open = open || strings.Contains(word, Unknown); placeholder.MatchString(word) {
				word = "x"
			}
			args = append(args, word)
			given++
		}
	}
	// The program finds misuse before it reads a configuration, so the configuration need not
	// exist. A command with an unknown value is not run, because the value may stand for several
	// arguments and flags. A command without arguments is not run either, because the sentence is
	// only about the command.
	if given > 0 && !open && !slices.Contains([]string{"dev", "providers", "bash"}, cmd.Name()) {
		var run Command
		if run.Run(t.Context(), append(args, "--config="+filepath.Join(t.TempDir(), "none.yaml"))...) == cli.ExitMisused {
			return run.Stderr.String()
		}
	}
	return c.elsewhere(t, words, end)
}

// elsewhere checks the flags in the rest of the sentence. It returns the reason why the program
// rejects one, or an empty text.
func (c PrintedCommand) elsewhere(t *testing.T, rest []string, end string) string {
	t.Helper()
	if !c.Prose || end == "" {
		return ""
	}
	cmd, _, err := cli.NewRoot(&cli.Process{Name: TestName}).Find(wordsOf(c.Text))
	require.NoError(t, err)
	for _, word := range rest {
		word = strings.TrimRight(word, ",;:.)`\"'")
		if name, is := strings.CutPrefix(word, "--"); is && cmd.Flag(name) == nil {
			return "no flag " + word
		}
		if word == TestName {
			break
		}
	}
	return ""
}

// filled returns the value of a flag, or an example value if the text has a placeholder.
func filled(flag *pflag.Flag, value string) string {
	if !placeholder.MatchString(value) {
		return value
	}
	kind, _ := pflag.UnquoteUsage(flag)
	switch {
	case kind == "time" || flag.Value.Type() == "duration":
		return "36h"
	case slices.Contains([]string{"int", "int64", "uint", "float64"}, flag.Value.Type()):
		return "1"
	case kind == "states" || kind == "state":
		return "failed"
	case kind == "expression":
		return "true"
	}
	return "x"
}

// wordsOf splits a line as a shell does, without expansions, and drops square brackets. A quotation
// mark counts only at the start of a word, after "=" or in a quoted word: elsewhere it is an
// apostrophe.
func wordsOf(text string) (words []string) {
	word, quote, begun, quoted := "", byte(0), false, false
	for i := 0; i < len(text); i++ {
		switch r := text[i]; {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case (r == '\'' || r == '"') && (word == "" || quoted || strings.HasSuffix(word, "=")):
			quote, begun, quoted = r, true, true
		case r == '\\' && quoted && i+1 < len(text):
			i++
			word += text[i : i+1]
		case r == ' ' || r == '\t':
			if begun {
				words = append(words, word)
			}
			word, begun, quoted = "", false, false
		case r == '[' || r == ']':
		default:
			word, begun = word+string(r), true
		}
	}
	if begun {
		words = append(words, word)
	}
	return words
}

// RequireTaken requires that the program accepts the commands on a console page, and returns their
// number.
func RequireTaken(t *testing.T, path, page string) (taken int) {
	t.Helper()
	shown := regexp.MustCompile(`(?s)<(?:pre id="command-[^>]*|code class="command")>(.*?)</`)
	for _, command := range shown.FindAllStringSubmatch(page, -1) {
		for _, c := range CommandsIn(path, html.UnescapeString(command[1]), false) {
			require.Empty(t, c.Refused(t), "%s: hooklatch %s", c.Where, c.Text)
			taken++
		}
	}
	return taken
}

// CommandsIn returns the commands of the program in a text.
func CommandsIn(where, text string, prose bool) (found []PrintedCommand) {
	for line := range strings.Lines(text) {
		for {
			at := named.FindStringSubmatchIndex(line)
			if at == nil {
				break
			}
			rest := line[at[2]:]
			// A command on a separate line is an example, and not part of a sentence.
			alone := strings.HasPrefix(line, " ") && strings.TrimSpace(line[:at[2]]) == TestName
			found = append(found, PrintedCommand{where, strings.TrimSpace(rest), prose && !alone})
			line = rest
		}
	}
	return found
}
