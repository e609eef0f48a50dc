package route

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	texttemplate "text/template"
	"text/template/parse"
)

// templateFuncs replaces template functions whose results can be much larger than their arguments,
// or can grow with each call. Each result is limited to a few times maxRendered.
var templateFuncs = texttemplate.FuncMap{
	"print":    bounded(fmt.Sprint),
	"println":  bounded(fmt.Sprintln),
	"html":     bounded(texttemplate.HTMLEscaper),
	"js":       bounded(texttemplate.JSEscaper),
	"urlquery": bounded(texttemplate.URLQueryEscaper),
	"printf": func(format string, args ...any) (string, error) {
		size, times := len(format)+paddingOf(format, args), 1
		if strings.Contains(format, "[") { // each verb may print the same argument
			times = max(1, strings.Count(format, "%"))
		}
		for _, arg := range args { // arguments without a verb are printed too
			if size > maxRendered {
				break
			}
			size += mul(times, templateSize(arg))
		}
		if size > maxRendered {
			return "", errTooLarge
		}
		return fmt.Sprintf(format, args...), nil
	},
}

// bounded returns a function that calls f, but fails if the arguments together are larger than
// maxRendered.
func bounded(f func(args ...any) string) func(args ...any) (string, error) {
	return func(args ...any) (string, error) {
		size := 0
		for _, arg := range args {
			if size += templateSize(arg); size > maxRendered {
				return "", errTooLarge
			}
		}
		return f(args...), nil
	}
}

// templateSize returns the number of bytes that a value has as text.
func templateSize(v any) int {
	if text, is := v.(string); is {
		return len(text)
	}
	return len(fmt.Sprint(v))
}

// maxPadding is the maximum width or precision that fmt applies.
const maxPadding = 1_000_000

var numberInFormat = regexp.MustCompile(`[0-9]+|\*`)

// paddingOf returns an upper bound for the number of bytes that a format adds by its widths and
// precisions.
func paddingOf(format string, args []any) int {
	given := 0 // largest width or precision that an argument can give
	for _, arg := range args {
		if v := reflect.ValueOf(arg); v.CanInt() {
			given = max(given, int(min(max(v.Int(), -v.Int()), maxPadding)))
		}
	}
	padding := 0
	for _, number := range numberInFormat.FindAllString(format, -1) {
		switch n, err := strconv.Atoi(number); {
		case number == "*":
			padding += given
		case err == nil:
			padding += min(n, maxPadding)
		}
	}
	return padding
}

// ticks adds an empty text before each node, and at the end of each list. Writing that text fails
// once the template has taken too long, so even a template without output stops. ticks passes each
// pipeline to pipe.
func ticks(list *parse.ListNode, pipe func(text string)) {
	if list == nil {
		return
	}
	nodes := make([]parse.Node, 0, 2*len(list.Nodes)+1)
	branch := func(b *parse.BranchNode) {
		pipe(b.Pipe.String())
		ticks(b.List, pipe)
		ticks(b.ElseList, pipe)
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.ActionNode:
			pipe(n.Pipe.String())
		case *parse.IfNode:
			branch(&n.BranchNode)
		case *parse.RangeNode:
			branch(&n.BranchNode)
		case *parse.WithNode:
			branch(&n.BranchNode)
		case *parse.TemplateNode:
			if n.Pipe != nil {
				pipe(n.Pipe.String())
			}
		}
		nodes = append(nodes, &parse.TextNode{NodeType: parse.NodeText, Pos: node.Position()}, node)
	}
	nodes = append(nodes, &parse.TextNode{NodeType: parse.NodeText, Pos: list.Pos})
	list.Nodes = nodes
}

// layouts matches calls that format a time, with the layout if it is a literal.
var layouts = regexp.MustCompile("Format( \"(?:[^\"\\\\]|\\\\.)*\"| `[^`]*`)?")

// computesLayout reports whether a pipeline formats a time with a layout that it computes. The
// length of such a layout can double with each call.
func computesLayout(pipe string) bool {
	return slices.ContainsFunc(layouts.FindAllStringSubmatch(pipe, -1), func(call []string) bool { return call[1] == "" })
}
