package jsonpointer

import "github.com/tidwall/gjson"

// Place is a value's position in a text, in bytes, from Start up to, but not including, End.
type Place struct{ Start, End int }

// Places returns the positions of all values in text to which a pointer leads, in order. Among
// equal names Lookup uses only the last one. Places returns all of them, because another reader may
// have used any of them. It returns nil if the text is not JSON.
func Places(text []byte, pointer string) []Place { return find(reader{}, text, pointer) }

// Siblings does the same as Places, but each index in the pointer matches every item: for
// /entry/0/changes/1 it returns all changes in all entries.
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

// places adds the positions to which tokens lead in the value that begins at i.
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
