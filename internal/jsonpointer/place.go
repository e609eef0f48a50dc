package jsonpointer

import "github.com/tidwall/gjson"

// Place is where a value stands in a text: from Start up to, and without, End.
type Place struct{ Start, End int }

// Places are where everything stands that a pointer leads to in text, in order. Where
// names are equal Lookup takes the last of them, and this takes them all: nobody can
// tell which of them another reader took. There are none in what is not JSON.
func Places(text []byte, pointer string) []Place { return find(reader{}, text, pointer) }

// Siblings are where everything stands that has the place of what a pointer leads to, each
// index on the way counting for all: for /entry/0/changes/1 all changes of all entries.
func Siblings(text []byte, pointer string) []Place { return find(reader{every: true}, text, pointer) }

func find(r reader, text []byte, pointer string) []Place {
	if _, valid := Read(text); !valid || pointer != "" && pointer[0] != '/' {
		return nil
	}
	r.text = WithoutMark(text)
	found := r.places(r.space(0), Tokens(pointer), nil)
	before := len(text) - len(r.text)
	for i := range found {
		found[i].Start += before
		found[i].End += before
	}
	return found
}

// places adds those of the value that begins at i.
func (r *reader) places(i int, tokens []string, found []Place) []Place {
	if len(tokens) == 0 {
		return append(found, Place{i, r.value(i, 0)})
	}
	switch r.text[i] {
	case '{':
		return r.placesOfMembers(r.space(i+1), tokens, found)
	case '[':
		return r.placesOfItems(r.space(i+1), tokens, found)
	}
	return found
}

func (r *reader) placesOfMembers(i int, tokens []string, found []Place) []Place {
	for r.text[i] != '}' {
		name := i
		i = r.str(i + 1)
		named := gjson.ParseBytes(r.text[name:i]).Str == tokens[0]
		i = r.space(r.space(i) + 1) // the colon
		if named {
			found = r.places(i, tokens[1:], found)
		}
		if i = r.space(r.value(i, 0)); r.is(i, ',') {
			i = r.space(i + 1)
		}
	}
	return found
}

func (r *reader) placesOfItems(i int, tokens []string, found []Place) []Place {
	index, isIndex := indexOf(tokens[0])
	for at := 0; isIndex && r.text[i] != ']'; at++ {
		if r.every {
			found = r.places(i, tokens[1:], found)
		} else if at == index {
			return r.places(i, tokens[1:], found)
		}
		if i = r.space(r.value(i, 0)); r.is(i, ',') {
			i = r.space(i + 1)
		}
	}
	return found
}
