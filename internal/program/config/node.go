package config

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// document parses data and decodes its only document into the struct to which target points.
func (d *decoder) document(data []byte, target any) {
	file, problems := ParseTree(d.origin.file, string(data))
	if problems != nil {
		d.problems = append(d.problems, problems...)
		return
	}
	if len(file.Docs) > 1 {
		d.reportf("", "has %d YAML documents; exactly one is expected", len(file.Docs))
		return
	}
	for _, doc := range file.Docs {
		ast.Walk(anchorCollector(d.anchors), doc)
		d.value(doc.Body, "", reflect.ValueOf(target).Elem(), 0)
	}
}

// ParseTree parses text, the text of the file at the path name, and does not decode it. The tree
// has the lines and columns of the text. Problems contain nothing of the text, which may contain
// secrets.
func ParseTree(name, text string) (*ast.File, Problems) {
	if strings.ContainsAny(text, maskOpen+maskClose) {
		return nil, Problems{{File: name, Message: "contains U+E000 or U+E001, private characters that are not allowed here"}}
	}
	file, err := parse(maskReferences(text))
	if err != nil {
		return nil, Problems{syntaxProblem(name, err)}
	}
	return file, nil
}

// parse parses YAML text. A panic of the parser on broken input becomes an error that has no
// position and contains no secret.
func parse(text string) (file *ast.File, err error) {
	defer func() {
		if recover() != nil {
			file, err = nil, errors.New("is not valid YAML")
		}
	}()
	// decoder.entries reports every duplicate key, with both lines.
	return parser.ParseBytes([]byte(text), 0, parser.AllowDuplicateMapKey())
}

var quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// syntaxProblem returns a Problem with the position and the reason of a syntax error. It omits text
// that the library quotes from the file, which may be a secret.
func syntaxProblem(file string, err error) Problem {
	p := Problem{File: file, Message: "is not valid YAML"}
	if syntax, ok := errors.AsType[yaml.Error](err); ok {
		p.Message = "is not valid YAML: " + quotedText.ReplaceAllString(syntax.GetMessage(), `"..."`)
		if token := syntax.GetToken(); token != nil && token.Position != nil {
			p.Line = token.Position.Line
		}
	}
	return p
}

// anchorCollector is an ast.Visitor that records the node of each anchor.
type anchorCollector map[string]ast.Node

// Visit implements ast.Visitor.
func (c anchorCollector) Visit(node ast.Node) ast.Visitor {
	if anchor, ok := node.(*ast.AnchorNode); ok && anchor.Name != nil {
		c[anchor.Name.String()] = anchor.Value
	}
	return c
}

// resolve follows anchors and aliases. It reports tags and invalid aliases, and then returns false.
func (d *decoder) resolve(node ast.Node, path string) (ast.Node, bool) {
	for range maxDepth {
		switch n := node.(type) {
		case *ast.AnchorNode:
			node = n.Value
		case *ast.AliasNode:
			if d.noAliases {
				d.unknown[path] = true
				d.reportf(path, "*%s is an alias; aliases are not allowed here, write the value itself", n.Value.String())
				return nil, false
			}
			target, known := d.anchors[n.Value.String()]
			if !known {
				d.unknown[path] = true
				d.reportf(path, "*%s refers to an anchor that does not exist", n.Value.String())
				return nil, false
			}
			node = target
		case *ast.TagNode:
			d.unknown[path] = true
			d.reportf(path, "has the tag %s; tags are not allowed here", n.Start.Value)
			return nil, false
		default:
			return node, true
		}
	}
	d.reportf(path, "is an alias of itself")
	return nil, false
}

// entry is one key of a mapping, with its line and value.
type entry struct {
	key   string
	line  int
	value ast.Node
}

// entries returns the entries of a mapping, reports duplicate keys, and records the lines.
func (d *decoder) entries(node ast.Node, path string) ([]entry, bool) {
	var values []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		d.unknown[path] = true
		d.reportf(path, "is %s; a mapping of keys to values is expected", describe(node))
		return nil, false
	}
	first := map[string]int{}
	list := make([]entry, 0, len(values))
	for _, v := range values {
		token := v.Key.GetToken()
		e := entry{key: unmask.Replace(token.Value), line: token.Position.Line, value: v.Value}
		if _, isScalar := asScalar(v.Key); !isScalar {
			d.unknown[path] = true
			d.problems = append(d.problems, Problem{
				File: d.origin.file, Line: e.line, Path: path,
				Message: "has a key that is not plain text; merge keys and complex keys are not allowed here",
			})
			continue
		}
		if line, twice := first[e.key]; twice {
			d.problems = append(d.problems, Problem{
				File: d.origin.file, Line: e.line, Path: join(path, e.key),
				Message: fmt.Sprintf("is given twice; the first is on line %d", line),
			})
			continue
		}
		first[e.key] = e.line
		d.origin.lines[join(path, e.key)] = e.line
		list = append(list, e)
	}
	return list, true
}

func describe(node ast.Node) string {
	switch node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	default:
		return "text"
	}
}
