package route

import (
	"errors"
	"regexp"
	"strings"
)

// celWords are the words that CEL and templates use in evaluation errors.
var celWords = wordsOf(`
	a accessing allowed already an and argument arguments as at attribute bad base64 be beyond bool by bytes call called calling
	can cannot characters clause comparable comparison compile conversion convert converting could current data date decode deeply
	dereference did division double duration duplicate dyn element empty encode end entry error evaluation exceeded exceeds executing
	expected expression failed field find for format formatting from function got greater had has illegal in incompatible index input
	insert int integer into invalid is iterate json key large length less limit list locale malformed map match matches maximum
	minutes missing modulus more must named negative nested nil no non none not null number of offset on one only operation optional or
	out overflow overload parse parsing pattern pointer precision program range read reading regex regexp replacement requires result
	rfc 3339 size slice string struct such supported template text than the time timestamp timezone to too type types uint unexpected
	unknown unsupported untyped utf 8 value values was were with wrong yaml yield yields zero
	are 16 about actual bounds compiles do instructions it may mib most much multiply repeats through work
	cancelled cost email html larger long render subject took`)

// word matches one word of a text.
var word = regexp.MustCompile(`[\pL\pN_]+`)

// templatePlace matches the position at which a template failed.
var templatePlace = regexp.MustCompile(`^template: [a-z.]+:\d+:\d+: `)

func wordsOf(text string) map[string]bool {
	all := make(map[string]bool)
	for _, w := range word.FindAllString(text, -1) {
		all[strings.ToLower(w)] = true
	}
	return all
}

// withoutValues returns err without event values: route errors are logged and shown to users who
// must not see the payload. It keeps only the position in a template, words from source, and words
// that CEL and templates use in their errors.
func withoutValues(err error, source string) error {
	own := wordsOf(source)
	place := templatePlace.FindString(err.Error())
	kept := strings.Fields(place)
	for piece := range strings.FieldsSeq(err.Error()[len(place):]) {
		for _, w := range word.FindAllString(piece, -1) {
			if w = strings.ToLower(w); !own[w] && !celWords[w] {
				piece = "…"
				break
			}
		}
		if piece != "…" || len(kept) == 0 || kept[len(kept)-1] != "…" {
			kept = append(kept, piece)
		}
	}
	return errors.New(strings.Join(kept, " "))
}
