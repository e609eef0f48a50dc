package statement

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// fragmentFolder is the folder for fragments, below the statements' folder.
const fragmentFolder = "fragment"

var (
	namePattern    = regexp.MustCompile(`^:[a-z][a-z0-9_]*$`)
	includePattern = regexp.MustCompile(`^\{\{([a-z][a-z0-9_]*)(?: ([a-z]+)=([a-z]+))?\}\}$`)
)

// compiled is a statement in the form that Postgres accepts.
type compiled struct {
	name   string  // its file's name, without folder and extension
	text   string  // with $1, $2, ...
	params []param // in the order of $1, $2, ...
}

// param is a parameter, or a column in rows.
type param struct {
	name   string // rows.column for a column
	column string // a column's SQL type, empty for a value
}

// names returns the parameters' names, in the order of $1, $2, ...
func (c *compiled) names() []string {
	names := make([]string, len(c.params))
	for i, p := range c.params {
		names[i] = p.name
	}
	return names
}

// number returns a parameter's number, such as $1. It adds the parameter if it is new.
func (c *compiled) number(p param) string {
	i := slices.IndexFunc(c.params, func(other param) bool { return other.name == p.name })
	if i < 0 {
		i = len(c.params)
		c.params = append(c.params, p)
	}
	return "$" + strconv.Itoa(i+1)
}

// folder is the folder that statements are read from.
type folder struct {
	files fs.FS
	path  string
	// shared lists folders with fragments at their top level.
	shared []fs.FS
	// used is the set of fragments that the statements contain.
	used map[string]bool
	// expanded caches fragments that were read, without comments.
	expanded map[string][]token
}

func (f folder) compile(name string) (compiled, error) {
	tokens, err := f.expand(name+".sql", nil)
	if err != nil {
		return compiled{}, err
	}
	c := compiled{name: name}
	var text strings.Builder
	for i := 0; i < len(tokens); i++ {
		switch t := tokens[i]; t.kind {
		case parameter:
			if i > 0 && tokens[i-1].kind == word {
				return compiled{}, fmt.Errorf("there is no space between %s and %s", tokens[i-1].text, t.text)
			}
			if !namePattern.MatchString(t.text) {
				return compiled{}, fmt.Errorf("parameter %s is not lower-case letters, digits and underscores", t.text)
			}
			rows, length, err := rowsIn(tokens[i:])
			if err != nil {
				return compiled{}, fmt.Errorf("%s: %w", t.text, err)
			}
			if length == 0 {
				if comparedWithNumber(tokens, i) {
					return compiled{}, fmt.Errorf("parameter %s gets its type from the number that it is compared with; write its type, as in %s::float8", t.text, t.text)
				}
				text.WriteString(c.number(param{name: t.text[1:]}))
				continue
			}
			text.WriteString(rows.unnested(&c))
			i += length - 1
		case positional:
			return compiled{}, fmt.Errorf("parameter %s has no name", t.text)
		default:
			text.WriteString(t.text)
		}
	}
	c.text = text.String()
	return c, nil
}

// comparedWithNumber reports whether the parameter at the index i has no type and is compared with a
// number. Postgres would give the parameter the number's type, integer, and fractions of a second
// would be lost.
func comparedWithNumber(tokens []token, i int) bool {
	if right, compared := otherSide(tokens, i, 1); compared && right.kind == word && isDigit(right.text[0]) {
		return true
	}
	typed := i+1 < len(tokens) && tokens[i+1].text == "::"
	left, compared := otherSide(tokens, i, -1)
	return compared && !typed && left.kind == word && strings.Trim(left.text, "0123456789") == ""
}

// otherSide returns the operand that the token at the index i is compared with, if step is 1 the one
// to the right of it, if step is -1 the one to the left.
func otherSide(tokens []token, i, step int) (operand token, compared bool) {
	for at := i + step; at >= 0 && at < len(tokens); at += step {
		t := tokens[at]
		switch {
		case t.kind != other:
			return t, compared
		case strings.Trim(t.text, "<>=") == "":
			compared = true
		case strings.TrimSpace(t.text) != "":
			return token{}, false
		}
	}
	return token{}, false
}

// expand reads a file and inserts its fragments. The parameter within lists the fragments that
// contain this file.
func (f folder) expand(file string, within []string) ([]token, error) {
	text, err := f.read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s", path.Join(f.path, file))
	}
	if err != nil {
		return nil, err
	}
	read, err := tokenize(string(text))
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(read, func(t token) bool { return t.kind == include }) {
		return read, nil
	}
	all := make([]token, 0, 2*len(read))
	for _, t := range read {
		if t.kind != include {
			all = append(all, t)
			continue
		}
		fragment, err := f.fragment(t.text, within)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.text, err)
		}
		all = append(all, fragment...)
	}
	return all, nil
}

// read reads a file in the folder, or a shared fragment. It refuses a fragment that exists twice,
// because it would be hard to see which one applies.
func (f folder) read(file string) ([]byte, error) {
	text, err := fs.ReadFile(f.files, path.Join(f.path, file))
	name, isFragment := strings.CutPrefix(file, fragmentFolder+"/")
	if !isFragment || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	for _, shared := range f.shared {
		found, sharedErr := fs.ReadFile(shared, name)
		switch {
		case errors.Is(sharedErr, fs.ErrNotExist):
		case sharedErr != nil:
			return nil, sharedErr
		case err == nil:
			return nil, errors.New("there are two fragments of this name")
		default:
			text, err = found, nil
		}
	}
	return text, err
}

// fragment returns the replacement for {{name}}: the file without its comments. For {{name e=a}},
// the alias e becomes a.
func (f folder) fragment(reference string, within []string) ([]token, error) {
	parts := includePattern.FindStringSubmatch(reference)
	if parts == nil {
		return nil, errors.New("not {{name}} or {{name alias=alias}}")
	}
	name, from, to := parts[1], parts[2], parts[3]
	if slices.Contains(within, name) {
		return nil, errors.New("a fragment cannot contain itself")
	}
	f.used[name] = true
	tokens, known := f.expanded[name]
	if !known {
		var err error
		if tokens, err = f.expand(path.Join(fragmentFolder, name+".sql"), append(slices.Clone(within), name)); err != nil {
			return nil, err
		}
		tokens = trimmed(tokens)
		f.expanded[name] = tokens
	}
	if from == "" {
		return tokens, nil
	}
	tokens, renamed := slices.Clone(tokens), false
	for i := range len(tokens) - 1 {
		if tokens[i] == (token{word, from}) && tokens[i+1].text == "." {
			tokens[i].text, renamed = to, true
		}
	}
	if !renamed {
		return nil, fmt.Errorf("it has no alias %s", from)
	}
	return tokens, nil
}

// trimmed returns a fragment without comments and without surrounding white space.
func trimmed(tokens []token) []token {
	blank := func(t token) bool { return strings.TrimSpace(t.text) == "" }
	tokens = slices.DeleteFunc(tokens, func(t token) bool { return t.kind == comment })
	for len(tokens) > 0 && blank(tokens[0]) {
		tokens = tokens[1:]
	}
	for len(tokens) > 0 && blank(tokens[len(tokens)-1]) {
		tokens = tokens[:len(tokens)-1]
	}
	return tokens
}
